package controllerutil

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sameOwner reports whether both references name the same owner. The version does not count: an
// object is the same in all of them. Neither does the UID: an owner that was made again under its
// old name takes the place of the one before.
func sameOwner(a, b metav1.OwnerReference) bool {
	left, err := schema.ParseGroupVersion(a.APIVersion)
	right, err2 := schema.ParseGroupVersion(b.APIVersion)
	return err == nil && err2 == nil && left.Group == right.Group && a.Kind == b.Kind &&
		a.Name == b.Name
}

// indexOwner is the place of the first reference to that owner, or -1.
func indexOwner(owners []metav1.OwnerReference, owner metav1.OwnerReference) int {
	return slices.IndexFunc(owners, func(ref metav1.OwnerReference) bool {
		return sameOwner(ref, owner)
	})
}

// withOwner is a new list, in which the reference is in the place of the one to that owner, or else
// at the end.
func withOwner(owners []metav1.OwnerReference, ref metav1.OwnerReference) []metav1.OwnerReference {
	owners = slices.Clone(owners)
	if at := indexOwner(owners, ref); at >= 0 {
		owners[at] = ref
		return owners
	}
	return append(owners, ref)
}

func isController(ref metav1.OwnerReference) bool {
	return ref.Controller != nil && *ref.Controller
}
