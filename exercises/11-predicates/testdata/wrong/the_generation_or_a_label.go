// Bug: a label is taken for a change of the spec.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool {
		return is.GetGeneration() != was.GetGeneration() || !maps.Equal(was.GetLabels(), is.GetLabels())
	})
}
