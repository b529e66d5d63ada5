// Bug: only the new Pods are counted, and not the old ones.
package deployment

func newSize(l limits, newSet size, _ []size) int32 {
	return min(l.desired+l.surge, l.desired)
}
