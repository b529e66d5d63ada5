// Bug: an object without generation always passes.
package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool {
		return is.GetGeneration() == 0 || is.GetGeneration() != was.GetGeneration()
	})
}
