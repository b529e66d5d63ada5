// Bug: what a failed cleanup has changed in the object is not written.
package finalizer

import (
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	controllerutil.RemoveFinalizer(obj, name)
	p.result.Updated = true
}
