// Package stories has the days that controllers must survive: who uses the cluster, which writes a
// process dies after, what goes wrong, and what's right in the end.
//
//	the controllers to play -> ReplicaSet, Deployment, ... -> simulation.Story -> Test
//
// It knows the API, and not whose controllers it plays: those of this library, those of Kubernetes, and
// those that you wrote in the course play the same days, before the same judges.
//
// Neighbours: below it is package simulation. Above it are only tests of controllers.
package stories
