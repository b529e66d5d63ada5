// Bug: a cleanup that succeeds removes all finalizers.
package finalizer

import (
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	obj.SetFinalizers([]string{})
	p.result.Updated = true
}
