// Bug: a finalizer that is there twice is removed once.
package finalizer

import (
	"fmt"
	"slices"

	"github.com/loopwright/loopwright/manager/client"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	list := slices.Clone(obj.GetFinalizers())
	at := slices.Index(list, name)
	obj.SetFinalizers(slices.Delete(list, at, at+1))
	p.result.Updated = true
}
