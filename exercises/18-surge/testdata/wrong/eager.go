// Bug: new Pods that do not serve yet are taken for replacements.
package deployment

func oldSizes(l limits, newSet size, oldSets []size) []int32 {
	least := l.desired - l.unavailable
	sizes := make([]int32, len(oldSets))
	left, serving := newSet.wanted, newSet.wanted
	for i, old := range oldSets {
		sizes[i] = old.wanted
		left += old.wanted
		serving += old.serving()
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
