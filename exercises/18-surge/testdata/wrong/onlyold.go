// Bug: the new ReplicaSet does not count its own Pods.
package deployment

func newSize(l limits, newSet size, oldSets []size) int32 {
	if newSet.wanted >= l.desired {
		return l.desired
	}
	total := int32(0)
	for _, old := range oldSets {
		total += old.wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return min(newSet.wanted+room, l.desired)
}
