// Bug: an update without the new object passes.
package predicate

import (
	"log/slog"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
	if event.IsNil(e.ObjectOld) || event.IsNil(e.ObjectNew) {
		slog.Error("An update event lacks an object", "compared", what, "old", keyOf(e.ObjectOld), "new", keyOf(e.ObjectNew))
		return !event.IsNil(e.ObjectOld)
	}
	return differ(e.ObjectOld, e.ObjectNew)
}
