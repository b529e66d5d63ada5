// Bug: an owner that says that it does not control is taken for the controller.
package handler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

func ownersOf(obj client.Object, kind schema.GroupKind, onlyController bool) func(yield func(metav1.OwnerReference) bool) {
	return func(yield func(metav1.OwnerReference) bool) {
		for _, ref := range obj.GetOwnerReferences() {
			if onlyController && ref.Controller == nil {
				continue
			}
			if refersTo(ref, kind) && !yield(ref) {
				return
			}
		}
	}
}
