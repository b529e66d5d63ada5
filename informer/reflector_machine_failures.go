package informer

// This file decides what follows a failure. The question is each time: what has
// been lost? Nothing but time, a part of a view, or the place in the history.

// ended: the server ended a stream or a watch in good order. Every watch ends,
// sooner or later. One that lived is opened again at once.
func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		return m.connect(deliverNothing)
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}

// watchFailed: the view is whole, and a watch was refused or broke.
func (m machine) watchFailed(in input) (machine, action) {
	if !in.fault.isTemporary() {
		// The place in the history is lost. A pause first: when a server restarts,
		// all of its clients come to this line at the same moment. A server that
		// has answered is well again, so the pause is short, unless this server
		// keeps making views that it then knows nothing of.
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		return m.relist(in, deliverNothing, "")
	}
	if !m.open {
		return m.rest(in, doWatch, deliverNothing, "")
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy && in.asked == 0 {
		m.brokenWatches = 0
		return m.connect(deliverNothing)
	}
	// It begins and breaks, again and again: perhaps at an event that cannot be
	// decoded. A new view leads past it.
	if m.brokenWatches++; m.brokenWatches == tries {
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}

// streamFailed: a stream was refused, stalled, or ended before the view was
// whole.
func (m machine) streamFailed(in input) (machine, action) {
	switch {
	case in.fault == faultUnsupported:
		m.streams = false
		return m.snapshot(deliverDiscard, "the server refuses WatchList")
	case in.fault == faultStalled:
		// The server may be in the middle of an upgrade. So this view is listed,
		// and the next one may be a stream again.
		m.failedStreams = tries
		return m.snapshot(deliverDiscard, "the stream stalled before the view was whole")
	case m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	case in.asked == 0:
		// A proxy may cut every answer that takes long, or refuse every stream.
		// But a server that says when to come back means the time and not the
		// stream.
		m.failedStreams++
	}
	return m.relist(in, deliverDiscard, "the stream ended before the view was whole")
}

// listFailed: a list failed, or a page in the middle of one.
func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		// The server offers the rest as it is now. That would be a view of two
		// moments: an object that was deleted in between is in it, and no watch
		// from either moment reports its end.
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged && in.fault.isTemporary():
		// The pages that are there stay good for minutes.
		if m.failedPages++; m.failedPages < tries {
			return m.rest(in, doPage, deliverNothing, "")
		}
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}

// cannotBeHad says whether the server has nothing that is "no older than the
// floor", so that the newest there is must be asked for.
func (m machine) cannotBeHad(f faultKind) bool {
	return (f == faultExpired || f == faultTooLarge) && !m.newest
}
