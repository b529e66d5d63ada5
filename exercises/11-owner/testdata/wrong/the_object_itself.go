// Bug: the object is asked for, and not its owner.
package handler

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func (h *ownerHandler) enqueue(queue clientQueue, o occurrence) {
	var requests []reconcile.Request
	for _, obj := range []client.Object{o.older, o.object} {
		if obj == nil {
			continue
		}
		for range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			requests = appendOnce(requests, requestFor(obj))
		}
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
