// Bug: the cleanup is called though nobody deletes the object.
package finalizer

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		if controllerutil.ContainsFinalizer(obj, name) {
			return name, true
		}
		if obj.GetDeletionTimestamp().IsZero() && controllerutil.AddFinalizer(obj, name) {
			p.result.Updated = true
		}
	}
	return "", false
}
