// Bug: no Pod may ever be missing.
package deployment

func oldSizes(l limits, newSet size, oldSets []size) []int32 {
	least := l.desired
	sizes := make([]int32, len(oldSets))
	left, serving := newSet.serving(), newSet.serving()
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
