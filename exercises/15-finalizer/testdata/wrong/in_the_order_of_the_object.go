// Bug: the cleanups are called in the order of the object, not in that of the registration.
package finalizer

import (
	"slices"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) next(obj client.Object) (name string, due bool) {
	slices.SortStableFunc(p.left, func(a, b string) int {
		return slices.Index(obj.GetFinalizers(), a) - slices.Index(obj.GetFinalizers(), b)
	})
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		switch {
		case !obj.GetDeletionTimestamp().IsZero():
			if controllerutil.ContainsFinalizer(obj, name) {
				return name, true
			}
		case controllerutil.AddFinalizer(obj, name):
			p.result.Updated = true
		}
	}
	return "", false
}
