// Bug: only the last owner reference is looked at.
package handler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

func ownersOf(obj client.Object, kind schema.GroupKind, onlyController bool) func(yield func(metav1.OwnerReference) bool) {
	return func(yield func(metav1.OwnerReference) bool) {
		for _, ref := range obj.GetOwnerReferences()[max(len(obj.GetOwnerReferences())-1, 0):] {
			controls := ref.Controller != nil && *ref.Controller
			if onlyController && !controls {
				continue
			}
			if refersTo(ref, kind) && !yield(ref) {
				return
			}
		}
	}
}
