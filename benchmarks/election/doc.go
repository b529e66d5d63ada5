// Package election compares our elector with client-go's. Both take part in one election; each is put
// into situations in which two replicas might lead; and renewals are measured.
//
// The electors differ in their types only, so peers.go hides both behind functions. The tests run on
// the real API server of an embedded cluster, and on the in-memory one, in a bubble.
package election
