// Bug: a label that was added is lost.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		a, b := was.GetLabels(), is.GetLabels()
		for key, value := range a {
			if b[key] != value {
				return true
			}
		}
		return false
	})
}
