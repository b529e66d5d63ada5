// Bug: a change of the spec is taken for one of the labels.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		return !maps.Equal(was.GetLabels(), is.GetLabels()) || was.GetGeneration() != is.GetGeneration()
	})
}
