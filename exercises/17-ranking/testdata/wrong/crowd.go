// Bug: the Pod that is alone on its node goes, and the crowd stays.
package replicaset

import "cmp"

func compareMerits(a, b merits) int {
	return cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(a.crowd, b.crowd),
		cmp.Compare(a.readyFor, b.readyFor),
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecarRestarts, a.sidecarRestarts),
		cmp.Compare(a.age, b.age),
		cmp.Compare(a.uid, b.uid),
	)
}
