// Bug: Pods that are equal in all merits are left in the order of the list, which is another one each time.
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
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecarRestarts, a.sidecarRestarts),
		cmp.Compare(a.age, b.age),
	)
}
