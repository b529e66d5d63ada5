// Bug: the cleanups are called in reverse order.
package finalizer

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		last := len(p.left) - 1
		if name = p.left[last]; obj.GetDeletionTimestamp().IsZero() {
			name, p.left = p.left[0], p.left[1:]
		} else {
			p.left = p.left[:last]
		}
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
