// Bug: the Pod with fewer restarts goes first.
package replicaset

import "cmp"

func compareMerits(a, b merits) int {
	return cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(b.crowd, a.crowd),
		cmp.Compare(a.readyFor, b.readyFor),
		cmp.Compare(a.restarts, b.restarts),
		cmp.Compare(a.sidecarRestarts, b.sidecarRestarts),
		cmp.Compare(a.age, b.age),
		cmp.Compare(a.uid, b.uid),
	)
}
