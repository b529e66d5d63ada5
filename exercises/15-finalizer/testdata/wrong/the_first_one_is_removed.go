// Bug: the first finalizer of the object is removed, whatever its name.
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
	obj.SetFinalizers(slices.Clone(obj.GetFinalizers())[1:])
	p.result.Updated = true
}
