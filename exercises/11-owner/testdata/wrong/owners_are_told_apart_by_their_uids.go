// Bug: two owners of one name that have different UIDs are asked for twice.
package handler

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func (h *ownerHandler) enqueue(queue clientQueue, o occurrence) {
	var requests []reconcile.Request
	asked := map[types.UID]bool{}
	for _, obj := range []client.Object{o.older, o.object} {
		if obj == nil {
			continue
		}
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			if !asked[ref.UID] {
				asked[ref.UID] = true
				requests = append(requests, ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref)))
			}
		}
	}
	enqueue(queue, ownerPhrases.opts(o), requests...)
}
