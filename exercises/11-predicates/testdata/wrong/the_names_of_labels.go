// Bug: only the names of labels are compared.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		a, b := was.GetLabels(), is.GetLabels()
		for key := range a {
			if _, found := b[key]; !found {
				return true
			}
		}
		return len(a) != len(b)
	})
}
