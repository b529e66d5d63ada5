// Bug: a group that ends like the right one is taken for it.
package handler

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	group, _, found := strings.Cut(ref.APIVersion, "/")
	if !found {
		return ref.Kind == kind.Kind && kind.Group == ""
	}
	return ref.Kind == kind.Kind && kind.Group != "" && strings.HasSuffix(group, kind.Group)
}
