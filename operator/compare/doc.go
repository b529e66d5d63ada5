// Package compare has no code but tests. They build the operator twice from the same source, with
// controller-runtime and, after `loopwright port`, with this library; they run the same scenario with both
// binaries on a real API server, and compare what is left: objects, events, metric names, and what the
// registrar was told.
//
// A user of the operator has no need of it.
package compare
