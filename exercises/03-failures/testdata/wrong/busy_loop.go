// Bug: a watch that ends at once is opened again at once.
package informer

func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy || m.open {
		return m.connect(deliverNothing)
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}
