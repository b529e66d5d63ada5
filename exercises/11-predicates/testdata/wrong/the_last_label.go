// Bug: nobody hears that the last label is gone.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		a, b := was.GetLabels(), is.GetLabels()
		return len(b) > 0 && !maps.Equal(a, b)
	})
}
