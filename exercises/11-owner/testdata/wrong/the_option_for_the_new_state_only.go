// Bug: OnlyControllerOwner does not count for the state before an update.
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
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController && obj == o.object) {
			requests = appendOnce(requests, ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref)))
		}
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
