// Bug: if something has failed, it says that nothing was changed.
package finalizer

func (p *pass) outcome() (Result, error) {
	if len(p.failures) > 0 {
		return Result{}, failed(p.failures)
	}
	return p.result, nil
}
