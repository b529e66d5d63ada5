// Bug: versions that are no numbers are all the same.
package predicate

import (
	"strconv"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (ResourceVersionChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("resourceVersion", e, func(was, is client.Object) bool {
		a, _ := strconv.Atoi(was.GetResourceVersion())
		b, _ := strconv.Atoi(is.GetResourceVersion())
		return a != b
	})
}
