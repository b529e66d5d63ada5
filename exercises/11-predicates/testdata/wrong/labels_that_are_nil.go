// Bug: no labels and an empty set of labels are different.
package predicate

import (
	"reflect"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool { return !reflect.DeepEqual(was.GetLabels(), is.GetLabels()) })
}
