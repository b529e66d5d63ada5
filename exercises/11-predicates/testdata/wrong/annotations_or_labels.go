// Bug: a label is taken for an annotation.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		return !maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations())
	})
}
