// Bug: the cost of a deletion counts more than readiness.
package replicaset

import "cmp"

func compareMerits(a, b merits) int {
	return cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		cmp.Compare(a.cost, b.cost),
		compareBool(a.ready, b.ready),
		cmp.Compare(b.crowd, a.crowd),
		cmp.Compare(a.readyFor, b.readyFor),
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecarRestarts, a.sidecarRestarts),
		cmp.Compare(a.age, b.age),
		cmp.Compare(a.uid, b.uid),
	)
}
