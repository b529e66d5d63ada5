// Bug: a group that begins like the right one is taken for it.
package handler

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	return ref.Kind == kind.Kind && (kind.Group == "" && !strings.Contains(ref.APIVersion, "/") || kind.Group != "" && strings.HasPrefix(ref.APIVersion, kind.Group))
}
