// Bug: only the values of labels are compared, and not their names.
package predicate

import (
	"maps"
	"slices"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		a, b := was.GetLabels(), is.GetLabels()
		return !slices.Equal(slices.Sorted(maps.Values(a)), slices.Sorted(maps.Values(b)))
	})
}
