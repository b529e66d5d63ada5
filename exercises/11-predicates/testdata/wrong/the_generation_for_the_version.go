// Bug: only a change of the spec passes.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (ResourceVersionChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("resourceVersion", e, func(was, is client.Object) bool {
		return is.GetResourceVersion() != was.GetResourceVersion() && (is.GetGeneration() != was.GetGeneration() || is.GetGeneration() == 0)
	})
}
