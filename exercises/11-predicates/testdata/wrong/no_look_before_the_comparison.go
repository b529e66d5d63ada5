// Bug: an update without an object ends the process.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
	_ = what
	return differ(e.ObjectOld, e.ObjectNew)
}
