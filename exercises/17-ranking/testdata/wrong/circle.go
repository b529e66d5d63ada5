// Bug: Pods of different age are compared by their UIDs before the restarts of their sidecars are compared.
package replicaset

import "cmp"

func compareMerits(a, b merits) int {
	first := cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(b.crowd, a.crowd),
		cmp.Compare(a.readyFor, b.readyFor),
		cmp.Compare(b.restarts, a.restarts),
	)
	if first == 0 && a.age != b.age {
		return cmp.Compare(a.uid, b.uid)
	}
	return cmp.Or(first, cmp.Compare(b.sidecarRestarts, a.sidecarRestarts), cmp.Compare(a.age, b.age), cmp.Compare(a.uid, b.uid))
}
