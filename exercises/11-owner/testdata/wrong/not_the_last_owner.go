// Bug: the last owner of several is left out.
package handler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

func ownersOf(obj client.Object, kind schema.GroupKind, onlyController bool) func(yield func(metav1.OwnerReference) bool) {
	return func(yield func(metav1.OwnerReference) bool) {
		for i, ref := range obj.GetOwnerReferences() {
			controls := ref.Controller != nil && *ref.Controller
			if onlyController && !controls || i > 0 && i == len(obj.GetOwnerReferences())-1 {
				continue
			}
			if refersTo(ref, kind) && !yield(ref) {
				return
			}
		}
	}
}
