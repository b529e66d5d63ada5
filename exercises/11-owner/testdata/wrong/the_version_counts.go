// Bug: an owner that was written down with another version is not found.
package handler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	return ref.Kind == kind.Kind && ref.APIVersion == schema.GroupVersion{Group: kind.Group, Version: "v1"}.String()
}
