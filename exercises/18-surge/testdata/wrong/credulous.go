// Bug: the status is believed even if it counts more Pods than are asked for.
package deployment

func oldSizes(l limits, newSet size, oldSets []size) []int32 {
	least := l.desired - l.unavailable
	sizes := make([]int32, len(oldSets))
	left, serving := newSet.available, newSet.available
	for i, old := range oldSets {
		sizes[i] = old.wanted
		left += old.wanted
		serving += old.available
	}
	take := func(most int32, from func(i int) int32) {
		for i := range sizes {
			n := max(min(most, from(i)), 0)
			sizes[i] -= n
			most -= n
		}
	}
	take(left-least, func(i int) int32 { return oldSets[i].idle() })
	take(serving-least, func(i int) int32 { return sizes[i] })
	return sizes
}
