// Bug: nobody learns of the fault of a source.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
	_ = what
	return !event.IsNil(e.ObjectOld) && !event.IsNil(e.ObjectNew) && differ(e.ObjectOld, e.ObjectNew)
}
