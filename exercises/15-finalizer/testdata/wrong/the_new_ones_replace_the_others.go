// Bug: the object loses the finalizers of other programs.
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
			if !p.result.Updated {
				obj.SetFinalizers(nil)
			}
			controllerutil.AddFinalizer(obj, name)
			p.result.Updated = true
		}
	}
	return "", false
}
