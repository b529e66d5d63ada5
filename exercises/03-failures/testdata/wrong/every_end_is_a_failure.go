// Bug: a watch that ended as it should is followed by a pause.
package informer

func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}
