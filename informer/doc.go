// Package informer is part I of the book: watching. It keeps a local copy of a collection of API
// objects, and reports its changes.
//
// The path of an event:
//
//	API server -> ListerWatcher -> Reflector -> Store + Index -> deltas -> listeners
//
// A [ListWatch] speaks the protocol for one kind, and a [Cursor] remembers how far a reader has
// come in the history. A [Reflector] keeps listing and watching whatever happens. A [Store] keeps
// the objects and their indices. An [Informer] puts them together: it works out what has changed,
// and shares one watch among many handlers.
//
// The package's examples, listWatch to informer, are whole programs that do the same small job,
// each with what its chapter adds.
//
// Below it are client-go's rest package, for the connection, and trace, the flight recorder.
// Everything else is above it: no controller asks the API server what exists.
package informer
