// Bug: nobody hears that the last annotation is gone.
package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		a, b := was.GetAnnotations(), is.GetAnnotations()
		return len(b) > 0 && !maps.Equal(a, b)
	})
}
