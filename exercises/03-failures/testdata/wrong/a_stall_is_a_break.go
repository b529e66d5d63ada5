// Bug: a stream that stalled is asked for again after a pause, and may stall for two time limits more.
package informer

func (m machine) streamFailed(in input) (machine, action) {
	switch {
	case in.fault == faultUnsupported:
		m.streams = false
		return m.snapshot(deliverDiscard, "the server refuses WatchList")
	case in.fault == faultStalled && m.failedStreams == tries-1:
		m.failedStreams = tries
		return m.snapshot(deliverDiscard, "the stream stalled before the view was whole")
	case m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	case in.asked == 0:
		m.failedStreams++
	}
	return m.relist(in, deliverDiscard, "the stream ended before the view was whole")
}
