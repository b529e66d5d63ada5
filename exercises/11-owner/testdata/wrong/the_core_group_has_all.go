// Bug: an owner without a group in its version is taken for one of every group.
package handler

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	group, _, found := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == kind.Kind && (!found || group == kind.Group)
}
