// Bug: a watch that is asked for again after it lived is taken for open already.
package informer

func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		m.state = StateConnecting
		return m, action{do: doWatch, version: m.cursor.ResourceVersion()}
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}
