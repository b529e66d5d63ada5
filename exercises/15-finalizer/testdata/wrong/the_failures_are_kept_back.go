// Bug: nobody hears of the failures.
package finalizer

func (p *pass) outcome() (Result, error) { return p.result, nil }
