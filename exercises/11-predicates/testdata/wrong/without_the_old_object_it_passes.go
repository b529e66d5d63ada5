// Bug: an update without the old object passes.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
)

func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
	if event.IsNil(e.ObjectOld) || event.IsNil(e.ObjectNew) {
		log.RuntimeLog.Error(nil, "An update event lacks an object", "compared", what, "old", keyOf(e.ObjectOld), "new", keyOf(e.ObjectNew))
		return !event.IsNil(e.ObjectNew)
	}
	return differ(e.ObjectOld, e.ObjectNew)
}
