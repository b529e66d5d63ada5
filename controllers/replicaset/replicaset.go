// Package replicaset keeps the number of Pods that each ReplicaSet asks for.
//
// A ReplicaSet and its Pods go in; Pods are created, deleted, adopted and released, and the ReplicaSet's status says
// how many there are. What to do is decided by functions without a clock or a client, each in a file of its own.
//
// Neighbours: below it are controllers/internal/claim, which decides whose a Pod is, and podstate, which decides
// whether it counts.
package replicaset

// The reasons of events, and of the condition ReplicaFailure.
const (
	successfulCreate = "SuccessfulCreate"
	successfulDelete = "SuccessfulDelete"
	failedCreate     = "FailedCreate"
	failedDelete     = "FailedDelete"
)
