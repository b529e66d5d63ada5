// Bug: a stream that the server ends too early, but in good order, is taken for a watch that ended.
package informer

func (m machine) ended(in input) (machine, action) {
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		return m.connect(deliverNothing)
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}
