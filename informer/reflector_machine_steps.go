package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// This file is the machine's way while nothing fails: request a view, collect it, hand it over, and
// follow the changes.

// snapshot requests all existing objects, at once: as a stream, or else as a list. It requests
// nothing older than what the sink has, which any API server can answer from memory. Only if that
// didn't work, it requests the newest state.
func (m machine) snapshot(deliver delivery, reason string) (machine, action) {
	m.open, m.paged, m.failedPages = false, false, 0
	act := action{deliver: deliver, version: m.floor, reason: reason}
	if m.newest {
		act.version = ""
	}
	// An older API server answers pages from etcd and not from memory, however old they may be. So
	// we use pages only for a list that goes to etcd anyway.
	act.whole = m.whole || act.version != ""
	if m.streams && !m.polls && m.failedStreams < tries {
		m.state, act.do = StateStreaming, doStream
	} else {
		m.state, act.do = m.listState(), doList
	}
	return m, act
}

func (m machine) listState() State {
	if m.polls {
		return StatePolling
	}
	return StateListing
}

// relist requests a new view after a pause.
func (m machine) relist(in input, deliver delivery, reason string) (machine, action) {
	m.cursor = Cursor{}
	return m.pause(in, doStream, deliver, reason)
}

// giveUpList drops the pages of a list that failed, and requests a new view after a pause. One
// piece may have been too much, or a stream may work again.
func (m machine) giveUpList(in input) (machine, action) {
	m.whole, m.failedStreams = false, 0
	if m.failedLists++; m.failedLists == tries {
		m.newest = true
	}
	return m.relist(in, deliverDiscard, "")
}

// initialEvent handles an event of a stream whose view isn't whole yet.
func (m machine) initialEvent(in input) (machine, action) {
	switch {
	case in.event != watch.Bookmark:
		return m, action{deliver: deliverCollect, do: doRead}
	case !in.last || in.version == "":
		// An ordinary bookmark: this is an ordinary watch. The server doesn't
		// know the request's other options. It didn't refuse them either, and
		// during an upgrade the next server may know them.
		m.failedStreams = tries
		return m.snapshot(deliverDiscard,
			"the server does not know WatchList: it sent a bookmark that ends nothing")
	case m.goesBack(in.version):
		return m.olderView(in)
	}
	m = m.viewIsWhole(in)
	m.state, m.openAt, m.bookmarks, m.heard = StateWatching, in.at, true, true
	return m, action{deliver: deliverReplace, do: doRead, version: in.version}
}

// pageCame handles an answer to a list. It's progress, so tries are counted from zero.
func (m machine) pageCame(in input) (machine, action) {
	m.failedPages = 0
	switch {
	case !in.last:
		m.paged = true
		return m, action{deliver: deliverCollect, do: doPage}
	case in.version == "":
		return m.pollLater(in)
	case m.goesBack(in.version):
		return m.olderView(in)
	}
	m.polls = false
	m = m.viewIsWhole(in)
	return m.connect(deliverReplace)
}

// pollLater hands over a list without a version. There's nothing to watch from: wait, and list
// again. The random part keeps clients apart that began together.
func (m machine) pollLater(in input) (machine, action) {
	reason := ""
	if !m.polls {
		reason = "the list has no resourceVersion to watch from: it is polled every " + m.poll.String()
	}
	m = m.viewIsWhole(in)
	m.polls, m.state, m.next, m.backoff = true, StatePolling, doStream, m.backoff.Forget()
	pause := m.poll + time.Duration(in.random*float64(m.poll)/10)
	return m, action{deliver: deliverReplace, do: doPause, pause: pause, reason: reason}
}

// viewIsWhole notes what the sink is about to get.
func (m machine) viewIsWhole(in input) machine {
	m.cursor, m.floor, m.viewAt = m.cursor.Listed(in.version), in.version, in.at
	m.newest, m.whole, m.paged, m.quiet = false, false, false, 0
	m.failedStreams, m.failedPages, m.failedLists, m.olderViews = 0, 0, 0, 0
	return m
}

// goesBack says whether a version is older than what the sink has. Versions that aren't numbers are
// never compared; API servers shouldn't have any.
func (m machine) goesBack(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, m.floor)
	return err == nil && order < 0
}

// olderView refuses a view that is older than what the sink has. If the newest view is older each
// time, it's the truth: the cluster was restored from a backup, and its history did go back.
func (m machine) olderView(in input) (machine, action) {
	if m.newest {
		if m.olderViews++; m.olderViews == tries {
			m.floor = ""
		}
	}
	m.newest = true
	return m.relist(in, deliverDiscard,
		"the server answered with resourceVersion "+in.version+", which is older than what was seen "+
			"before")
}

// newsEvent handles an event of a watch that continues a whole view. A server that sends one is
// healthy.
func (m machine) newsEvent(in input) (machine, action) {
	m.brokenWatches, m.backoff = 0, m.backoff.Forget()
	m.heard, m.quiet = true, 0
	m.bookmarks = m.bookmarks || in.event == watch.Bookmark
	cursor, isChange := m.cursor.Saw(in.event, in.version)
	switch {
	case m.goesBack(in.version):
		if !isChange { // an old bookmark does no harm
			return m, action{do: doRead}
		}
		return m.relist(in, deliverNothing,
			"the server sent an event of resourceVersion "+in.version+" after that of "+m.floor)
	case isChange:
		m.cursor, m.floor = cursor, cursor.ResourceVersion()
		return m, action{deliver: deliverApply, do: doRead}
	case in.version == "":
		return m, action{do: doRead}
	}
	m.cursor, m.floor = cursor, cursor.ResourceVersion()
	return m, action{deliver: deliverProgress, do: doRead, version: m.floor}
}

// This file decides what follows a failure. The question is always: what was lost? Only time, a
// part of a view, or the place in the history.

// ended: the server ended a stream or a watch normally. Every watch ends, sooner or later. One that
// lived is opened again at once.
func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.streamFailed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		return m.resume(in)
	}
	return m.pause(in, doWatch, deliverNothing, "the server ended the watch soon after it began")
}

// maxQuiet is how long watches may get nothing. API servers send a bookmark about every minute.
const maxQuiet = 2 * time.Minute

// resume goes on after a watch that lived.
//
// If not even a bookmark came, it may have begun at a version of the future. A server that was
// restored from a backup accepts that, and sends nothing until it gets there, which may take days.
// But it refuses a view that is no older. client-go watches from there again.
func (m machine) resume(in input) (machine, action) {
	if !m.heard {
		m.quiet += in.at - m.openAt
	}
	if m.bookmarks && m.quiet >= maxQuiet {
		return m.relist(in, deliverNothing, "the watch got nothing for minutes, not even a bookmark")
	}
	return m.connect(deliverNothing)
}

// watchFailed: the view is whole, and a watch was refused or broke.
func (m machine) watchFailed(in input) (machine, action) {
	if !in.fault.isTemporary() {
		// The place in the history is lost. Pause first: when a server restarts, all of its clients
		// get here at the same moment. A server that has answered is healthy again, so the pause is
		// short, unless this server keeps making views that it then knows nothing about.
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		return m.relist(in, deliverNothing, "")
	}
	if !m.open {
		return m.pause(in, doWatch, deliverNothing, "")
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy && in.asked == 0 {
		m.brokenWatches = 0
		return m.resume(in)
	}
	// It begins and breaks, again and again: maybe at an event that can't be decoded. A new view
	// gets past it.
	if m.brokenWatches++; m.brokenWatches == tries {
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.pause(in, doWatch, deliverNothing, "")
}

// streamFailed: a stream was refused, stalled, or ended before the view was
// whole.
func (m machine) streamFailed(in input) (machine, action) {
	switch {
	case in.fault == faultNone:
		next, act := m.snapshot(deliverDiscard, "")
		next.state, act.do = next.listState(), doList
		return next, act
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
		// A proxy may cut every answer that takes long, or refuse every stream. But if a server
		// says when to come back, the problem is the time and not the stream.
		m.failedStreams++
	}
	return m.relist(in, deliverDiscard, "the stream ended before the view was whole")
}

// listFailed: a list failed, or a page in the middle of one.
func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		// The server offers the rest as it is now. That would be a view of two moments: it would
		// include an object that was deleted in between, and no watch from either moment reports
		// its deletion.
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged && in.fault.isTemporary():
		// The pages that we have stay good for minutes.
		if m.failedPages++; m.failedPages < tries {
			return m.pause(in, doPage, deliverNothing, "")
		}
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}

// cannotBeHad says whether the server has nothing that is "no older than the floor", so that we
// have to request the newest state.
func (m machine) cannotBeHad(f faultKind) bool {
	return (f == faultExpired || f == faultTooLarge) && !m.newest
}
