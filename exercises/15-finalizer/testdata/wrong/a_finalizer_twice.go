// Bug: it adds what the object has already, which is a second one of that name.
package finalizer

import (
	"slices"

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
		default:
			obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), name))
			p.result.Updated = true
		}
	}
	return "", false
}
