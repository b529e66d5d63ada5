// Bug: if there is less room than none, the new Pods go.
package deployment

func newSize(l limits, newSet size, oldSets []size) int32 {
	if newSet.wanted >= l.desired {
		return l.desired
	}
	total := newSet.wanted
	for _, old := range oldSets {
		total += old.wanted
	}
	room := l.desired + l.surge - total
	return min(newSet.wanted+room, l.desired)
}
