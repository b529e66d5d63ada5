// Bug: an owner of the same kind in another group is asked for.
package handler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	return ref.Kind == kind.Kind
}
