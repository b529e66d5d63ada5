// Bug: only the oldest ReplicaSet is counted.
package deployment

func newSize(l limits, newSet size, oldSets []size) int32 {
	if newSet.wanted >= l.desired {
		return l.desired
	}
	total := newSet.wanted
	if len(oldSets) > 0 {
		total += oldSets[0].wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return min(newSet.wanted+room, l.desired)
}
