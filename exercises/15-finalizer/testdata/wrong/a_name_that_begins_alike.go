// Bug: a finalizer whose name begins like ours counts as ours.
package finalizer

import (
	"slices"
	"strings"

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
		case !slices.ContainsFunc(obj.GetFinalizers(), func(has string) bool { return strings.HasPrefix(has, name) }):
			controllerutil.AddFinalizer(obj, name)
			p.result.Updated = true
		}
	}
	return "", false
}
