// Bug: annotations are compared as they are printed, and two that are different may look the same.
package predicate

import (
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		return fmt.Sprint(was.GetAnnotations()) != fmt.Sprint(is.GetAnnotations())
	})
}
