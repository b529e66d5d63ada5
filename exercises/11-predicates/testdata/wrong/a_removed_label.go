// Bug: a label that was removed is lost.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		a, b := was.GetLabels(), is.GetLabels()
		for key, value := range b {
			if a[key] != value {
				return true
			}
		}
		return false
	})
}
