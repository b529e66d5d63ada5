// Bug: a change of the spec is taken for one of the annotations.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		return !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) || was.GetGeneration() != is.GetGeneration()
	})
}
