// Bug: every update is lost.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool { return false })
}
