// Bug: an owner is asked for twice if another one stands in between.
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
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			request := ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref))
			if len(requests) == 0 || requests[len(requests)-1] != request {
				requests = append(requests, request)
			}
		}
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
