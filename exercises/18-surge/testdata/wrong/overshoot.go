// Bug: the new ReplicaSet grows into the surge, beyond what is desired.
package deployment

func newSize(l limits, newSet size, oldSets []size) int32 {
	if newSet.wanted >= l.desired {
		return l.desired
	}
	total := newSet.wanted
	for _, old := range oldSets {
		total += old.wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return newSet.wanted + room
}
