// Bug: a kind that is written in another way is taken for the right one.
package handler

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	group, _, found := strings.Cut(ref.APIVersion, "/")
	if !found {
		group = ""
	}
	return strings.EqualFold(ref.Kind, kind.Kind) && group == kind.Group
}
