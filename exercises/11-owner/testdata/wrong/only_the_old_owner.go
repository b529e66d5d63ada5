// Bug: an update leads only to the owner before it.
package handler

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func (h *ownerHandler) enqueue(queue clientQueue, o occurrence) {
	before := o.object
	if o.older != nil {
		before = o.older
	}
	var requests []reconcile.Request
	for _, obj := range []client.Object{before} {
		if obj == nil {
			continue
		}
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			requests = appendOnce(requests, ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref)))
		}
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
