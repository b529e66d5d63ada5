// Bug: another value of an annotation is lost.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		a, b := was.GetAnnotations(), is.GetAnnotations()
		return len(a) != len(b)
	})
}
