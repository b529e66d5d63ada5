package controllerutil

import (
	"slices"

	"github.com/loopwright/loopwright/manager/client"
)

// AddFinalizer adds a finalizer, unless the object has it, and reports whether it did. The caller
// has to write the object: before the finalizer's owner makes what has to be cleaned up.
func AddFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer, and reports whether the object had it. The caller has to
// write the object: after it is certain that everything has been cleaned up. Nobody looks at the
// object again once its last finalizer is gone.
func RemoveFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if !ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return f == finalizer
	}))
	return true
}

// ContainsFinalizer reports whether the object has the finalizer.
func ContainsFinalizer(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}
