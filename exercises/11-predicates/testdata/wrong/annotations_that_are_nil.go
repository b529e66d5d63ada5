// Bug: no annotations and an empty set of annotations are different.
package predicate

import (
	"reflect"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool { return !reflect.DeepEqual(was.GetAnnotations(), is.GetAnnotations()) })
}
