// Bug: all requests have a low priority.
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
			requests = appendOnce(requests, ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref)))
		}
	}
	opts := ownerPhrases.opts(o)
	opts.Priority = &lowPriority
	enqueue(queue, opts, requests...)
}
