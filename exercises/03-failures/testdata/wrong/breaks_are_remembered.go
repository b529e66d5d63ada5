// Bug: after three streams that broke, streaming is off for as long as the reflector runs.
package informer

func (m machine) streamFailed(in input) (machine, action) {
	switch {
	case in.fault == faultUnsupported:
		m.streams = false
		return m.snapshot(deliverDiscard, "the server refuses WatchList")
	case in.fault == faultStalled:
		m.failedStreams = tries
		return m.snapshot(deliverDiscard, "the stream stalled before the view was whole")
	case m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	case in.asked == 0:
		if m.failedStreams++; m.failedStreams == tries {
			m.streams = false
		}
	}
	return m.relist(in, deliverDiscard, "the stream ended before the view was whole")
}
