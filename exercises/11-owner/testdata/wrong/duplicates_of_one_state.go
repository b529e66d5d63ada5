// Bug: owners are compared only with those of the other state of an update.
package handler

import (
	"slices"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func (h *ownerHandler) enqueue(queue clientQueue, o occurrence) {
	var requests []reconcile.Request
	for _, obj := range []client.Object{o.older, o.object} {
		if obj == nil {
			continue
		}
		var more []reconcile.Request
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			if request := ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref)); !slices.Contains(requests, request) {
				more = append(more, request)
			}
		}
		requests = append(requests, more...)
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
