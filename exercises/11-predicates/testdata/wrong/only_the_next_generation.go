// Bug: a generation that jumps, because updates were missed, is no change.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool {
		return is.GetGeneration()-was.GetGeneration() == 1 || is.GetGeneration() < was.GetGeneration()
	})
}
