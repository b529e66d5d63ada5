// Package informer is part I of the book: watching. It keeps a local copy of a
// collection of API objects and tells others what changes in it.
//
// The way of an event:
//
//	API server -> ListerWatcher -> Reflector -> DeltaQueue -> Store + Index -> listeners
//
// So far there is the first step. A [ListWatch] speaks the protocol for one
// kind: it lists the collection, and watches what happens to it afterwards. A
// [Cursor] remembers how far in that history a reader has come, which is all it
// takes to go on after an interruption.
//
// Below it are client-go's rest package, for the connection, and trace, the
// flight recorder. Above it is everything else: no controller talks to the API
// server to find out what is there.
package informer
