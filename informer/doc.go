// Package informer is part I of the book: watching. It keeps a local copy of a
// collection of API objects and reports what changes in it.
//
// The path of an event:
//
//	API server -> ListerWatcher -> Reflector -> DeltaQueue -> Store + Index -> listeners
//
// Chapter by chapter: a [ListWatch] speaks the protocol for one kind, and a
// [Cursor] remembers how far in the history a reader has come. A Store keeps the
// objects and their indices. A Reflector keeps listing and watching whatever
// happens. A DeltaQueue holds what changed until its consumer takes it. An Informer
// puts them together and shares one watch among many listeners.
//
// The package's examples, listWatch to informer, are whole programs that do the same small
// job, each with what its chapter adds.
//
// Below it are client-go's rest package, for the connection, and trace, the
// flight recorder. Above it is everything else: no controller talks to the API
// server to find out what is there.
package informer
