// Bug: an object that is being deleted gets finalizers, too.
package finalizer

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		if controllerutil.AddFinalizer(obj, name) {
			p.result.Updated = true
		}
		switch {
		case !obj.GetDeletionTimestamp().IsZero():
			if controllerutil.ContainsFinalizer(obj, name) {
				return name, true
			}
		}
	}
	return "", false
}
