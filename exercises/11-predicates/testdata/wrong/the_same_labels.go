// Bug: the answer is the wrong way round.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool { return maps.Equal(was.GetLabels(), is.GetLabels()) })
}
