package loopwright

import "github.com/loopwright/loopwright/manager/controller/controllerutil"

var (
	// SetControllerReference makes one object the controller of another one: the garbage collector removes the
	// second with the first, and a controller that Owns the second is told of it.
	SetControllerReference = controllerutil.SetControllerReference
	// CreateOrUpdate makes an object what a function says it should be, or creates it.
	CreateOrUpdate = controllerutil.CreateOrUpdate
	// CreateOrPatch is CreateOrUpdate with a patch, which also writes the status.
	CreateOrPatch = controllerutil.CreateOrPatch
)
