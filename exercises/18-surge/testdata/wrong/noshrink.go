// Bug: a new ReplicaSet that has too many Pods keeps them.
package deployment

func newSize(l limits, newSet size, oldSets []size) int32 {
	if newSet.wanted >= l.desired {
		return newSet.wanted
	}
	total := newSet.wanted
	for _, old := range oldSets {
		total += old.wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return min(newSet.wanted+room, l.desired)
}
