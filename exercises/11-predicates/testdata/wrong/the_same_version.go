// Bug: the answer is the wrong way round.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (ResourceVersionChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("resourceVersion", e, func(was, is client.Object) bool { return is.GetResourceVersion() == was.GetResourceVersion() })
}
