// Bug: a watch that ends early is followed by a new view, as if its place were lost.
package informer

func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		return m.connect(deliverNothing)
	}
	return m.relist(in, deliverNothing, "the server ended the watch soon after it began")
}
