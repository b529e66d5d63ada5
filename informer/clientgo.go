package informer

import (
	"context"

	clientgo "k8s.io/client-go/tools/cache"
)

// The types of this file are client-go's own: interfaces, plain structs, and structs of handler
// functions. They're in signatures that a program's types have to match, and in Go only the same
// type does. Informers, stores and reflectors are this package's.

type (
	// ResourceEventHandler is a Handler of objects of any type. If the watch missed an object's
	// deletion, the object arrives as a DeletedFinalStateUnknown.
	ResourceEventHandler = clientgo.ResourceEventHandler
	// ResourceEventHandlerFuncs is a ResourceEventHandler made of functions; nil ones aren't
	// called.
	ResourceEventHandlerFuncs = clientgo.ResourceEventHandlerFuncs
	// ResourceEventHandlerDetailedFuncs is the same, and also learns which objects existed at the
	// beginning.
	ResourceEventHandlerDetailedFuncs = clientgo.ResourceEventHandlerDetailedFuncs
	// FilteringResourceEventHandler passes on only events about objects that FilterFunc accepts.
	FilteringResourceEventHandler = clientgo.FilteringResourceEventHandler
	// ResourceEventHandlerOptions are client-go's HandlerOptions. Ours are HandlerOptions.
	ResourceEventHandlerOptions = clientgo.HandlerOptions
	// DeletedFinalStateUnknown is what OnDelete gets for an object whose deletion the watch missed.
	// Obj is its last known state, and Key its namespace and name.
	DeletedFinalStateUnknown = clientgo.DeletedFinalStateUnknown
	// ResourceEventHandlerRegistration is client-go's interface to a Registration.
	ResourceEventHandlerRegistration = clientgo.ResourceEventHandlerRegistration
	// DoneChecker is something that will be done, and has a name.
	DoneChecker = clientgo.DoneChecker
	// Indexers are index functions by name. client-go also has a name for the functions; here
	// IndexFunc has taken it.
	Indexers = clientgo.Indexers
	// TransformFunc is a Transform of objects of any type. It gets the object and returns it, or
	// another one. Unlike client-go's, it never gets tombstones.
	TransformFunc = clientgo.TransformFunc
	// WatchErrorHandlerWithContext is called with the errors of a reflector.
	WatchErrorHandlerWithContext = clientgo.WatchErrorHandlerWithContext
)

// ErrorsOnly makes a ReflectorOptions.WatchErrorHandler from client-go's. It gets an empty context,
// and a reflector without a name: the one that had the error isn't client-go's.
func ErrorsOnly(handle WatchErrorHandlerWithContext) func(error) {
	return func(err error) { handle(context.Background(), &clientgo.Reflector{}, err) }
}
