// Bug: a version that is smaller, after a restored backup, is no change.
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
		return b > a || b == a && was.GetResourceVersion() != is.GetResourceVersion()
	})
}
