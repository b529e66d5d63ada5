// Bug: only the first failure is reported.
package finalizer

import (
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil && len(p.failures) == 0 {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
	}
	if err != nil {
		return
	}
	controllerutil.RemoveFinalizer(obj, name)
	p.result.Updated = true
}
