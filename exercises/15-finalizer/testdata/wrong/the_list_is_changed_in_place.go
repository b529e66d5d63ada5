// Bug: the list of finalizers is changed where it is, and a cached object may share it.
package finalizer

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		switch {
		case !obj.GetDeletionTimestamp().IsZero():
			if controllerutil.ContainsFinalizer(obj, name) {
				return name, true
			}
		case !controllerutil.ContainsFinalizer(obj, name):
			obj.SetFinalizers(append(obj.GetFinalizers(), name))
			p.result.Updated = true
		}
	}
	return "", false
}
