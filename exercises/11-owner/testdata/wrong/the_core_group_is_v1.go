// Bug: owners of the core group are never found.
package handler

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == kind.Kind && group == kind.Group
}
