package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// machine is what a reflector has to remember. step is all that it decides. It
// is a value, without goroutine, clock, lock or client.
type machine struct {
	state   State
	backoff Backoff
	streams bool // the server is believed to understand WatchList

	cursor Cursor // from where to watch; gone after 410
	floor  string // the newest version that the sink has; it outlives the cursor

	next    command       // what follows the pause
	open    bool          // what was asked for last was accepted
	since   time.Duration // since when this watch has been telling news
	snapped time.Duration // when the view was last made whole
	quorum  bool          // ask for the newest there is instead of "no older than the floor"
	whole   bool          // list in one piece, because a continue token expired
	pages   int           // how many pages have been put aside
	detour  bool          // this view is listed, because streams cannot be opened

	unopened   int // streams that could not be opened, in a row; see weight
	undivided  int // lists in one piece that failed, in a row
	unfinished int // snapshots that broke off in the middle, in a row
	fruitless  int // breaks of open watches in a row, with no event in between
	doubts     int // newest views that were older than the floor, in a row
}

// tries is how often in a row something may go wrong in the same way before
// another way is tried.
const tries = 3

// weight is that of a stream that was refused by an answer, such as 403 or 500:
// it may mean sendInitialEvents. One that got no answer at all weighs 1.
const weight = 3

// step takes the machine from one state to the next.
func (m machine) step(in input) (machine, action) {
	switch in.kind {
	case inBegin:
		return m.snapshot(deliverNothing, "")
	case inOpened:
		m.open, m.since, m.unopened = true, in.at, 0
		if m.state == StateConnecting {
			m.state = StateWatching
		}
		return m, action{do: doRead}
	case inEvent:
		if m.state == StateStreaming {
			return m.initialEvent(in)
		}
		return m.newsEvent(in)
	case inPage:
		return m.page(in)
	case inEnded:
		return m.ended(in)
	case inFailed:
		return m.failed(in)
	case inRested:
		return m.rested()
	default:
		m.state = StateStopped
		return m, action{deliver: deliverDiscard, do: doStop}
	}
}

// snapshot asks for all there is: as a stream, or else as a list. It asks for
// nothing older than what the sink has, which any API server can answer from
// memory; only if that did not work, for the newest there is.
func (m machine) snapshot(deliver delivery, reason string) (machine, action) {
	m.open, m.pages = false, 0
	act := action{deliver: deliver, version: m.floor, reason: reason}
	if m.quorum {
		act.version = ""
	}
	// An older API server answers pages from etcd and not from memory, however
	// old they may be. So pages are for a list that goes to etcd anyway.
	act.whole = m.whole || act.version != ""
	if m.streams && !m.detour {
		m.state, act.do = StateStreaming, doStream
	} else {
		m.state, act.do = StateListing, doList
	}
	return m, act
}

// initialEvent is one of a stream whose view is not whole yet.
func (m machine) initialEvent(in input) (machine, action) {
	switch {
	case in.event != watch.Bookmark:
		return m, action{deliver: deliverCollect, do: doRead}
	case !in.last || in.version == "":
		// An ordinary bookmark: this is an ordinary watch. The server has
		// overlooked what we asked for.
		m.streams = false
		return m.snapshot(deliverDiscard, "the server does not know WatchList: it sent a bookmark that ends nothing")
	case m.goesBack(in.version):
		return m.doubt(in)
	}
	return m.replaced(in, doRead)
}

// page is an answer to a list. It is progress, so tries are counted anew.
func (m machine) page(in input) (machine, action) {
	m.unfinished = 0
	switch {
	case !in.last:
		m.pages++
		return m, action{deliver: deliverCollect, do: doPage}
	case m.goesBack(in.version):
		return m.doubt(in)
	}
	return m.replaced(in, doWatch)
}

// replaced is the moment at which the view is whole.
func (m machine) replaced(in input, then command) (machine, action) {
	m.state, m.since, m.snapped = StateWatching, in.at, in.at
	if then == doWatch {
		m.state, m.open = StateConnecting, false
	}
	m.cursor, m.floor = m.cursor.Listed(in.version), in.version
	m.quorum, m.whole, m.pages, m.detour = false, false, 0, false
	m.unopened, m.undivided, m.unfinished, m.doubts = 0, 0, 0, 0
	return m, action{deliver: deliverReplace, do: then, version: in.version}
}

// goesBack tells whether a version lies before what the sink has. Versions that
// are no numbers, which API servers should not but may have, are never compared.
func (m machine) goesBack(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, m.floor)
	return err == nil && order < 0
}

// doubt refuses a view that is older than what the sink has. If the newest
// there is, asked for again and again, stays older, it is the truth: the cluster
// was restored from a backup, and its history did go back.
func (m machine) doubt(in input) (machine, action) {
	if m.quorum {
		if m.doubts++; m.doubts == tries {
			m.floor = ""
		}
	}
	m.quorum = true
	return m.rest(in, doStream, deliverDiscard, "the server answered with resourceVersion "+in.version+", which is older than what was seen before")
}

// newsEvent is one of a watch that goes on from a whole view.
func (m machine) newsEvent(in input) (machine, action) {
	m.fruitless = 0
	cursor, deliver := m.cursor.Saw(in.event, in.version)
	switch {
	case in.version != "" && m.goesBack(in.version):
		if !deliver { // a bookmark that tells nothing new does no harm
			return m, action{do: doRead}
		}
		m.cursor = Cursor{}
		return m.rest(in, doStream, deliverNothing, "the server sent an event of resourceVersion "+in.version+" after that of "+m.floor)
	case deliver:
		m.cursor, m.floor = cursor, cursor.ResourceVersion()
		return m, action{deliver: deliverApply, do: doRead}
	case in.version == "":
		return m, action{do: doRead}
	}
	m.cursor, m.floor = cursor, cursor.ResourceVersion()
	return m, action{deliver: deliverProgress, do: doRead, version: m.floor}
}

// ended: every watch does, sooner or later. After a healthy life the next one
// may follow at once.
func (m machine) ended(in input) (machine, action) {
	return m.rest(in, doStream, deliverDiscard, "") // TODO: a watch ended in good order, or a stream too early. What now?
}

// failed decides what to do after an error, by what was being done.
func (m machine) failed(in input) (machine, action) {
	switch m.state {
	case StateStreaming:
		return m.streamsInVain(in).streamFailed(in)
	case StateListing:
		return m.listsInVain(in).listFailed(in)
	default:
		return m.watchFailed(in)
	}
}

// streamsInVain counts the streams that could not be opened. They say nothing
// about what the server can do. But a proxy may be in the way of all of them, so
// after some the next view is listed, this once.
func (m machine) streamsInVain(in input) machine {
	switch {
	case m.open:
	case in.answered:
		m.unopened += weight
	default:
		m.unopened++
	}
	return m
}

// listsInVain counts the lists in one piece that failed. One piece may be too
// much. The newest there is can be had in pages.
func (m machine) listsInVain(in input) machine {
	if m.floor != "" && !m.quorum && !m.cannotBeHad(in.fault) {
		m.undivided++
		m.quorum = m.undivided == tries
	}
	return m
}

func (m machine) streamFailed(in input) (machine, action) {
	return m.rest(in, doStream, deliverDiscard, "") // TODO: a stream was refused, stalled or broke. What now?
}

func (m machine) listFailed(in input) (machine, action) {
	return m.rest(in, doStream, deliverDiscard, "") // TODO: a list or a page failed. What now?
}

// cannotBeHad tells whether the server has nothing that is "no older than the
// floor" to offer, so that the newest there is must be asked for.
func (m machine) cannotBeHad(f fault) bool {
	return (f == faultExpired || f == faultTooLarge) && !m.quorum
}

func (m machine) watchFailed(in input) (machine, action) {
	return m.rest(in, doStream, deliverDiscard, "") // TODO: a watch was refused or broke. What now?
}

// rest waits before next, a little longer each time. doStream stands for
// whatever snapshot chooses then.
func (m machine) rest(in input, next command, deliver delivery, reason string) (machine, action) {
	var pause time.Duration
	m.backoff, pause = m.backoff.Failed(in.asked, in.random)
	m.state, m.next, m.open = StateWaiting, next, false
	return m, action{deliver: deliver, do: doPause, pause: pause, reason: reason}
}

// rested goes on where the pause began.
func (m machine) rested() (machine, action) {
	switch m.next {
	case doWatch:
		m.state = StateConnecting
		return m, action{do: doWatch, version: m.cursor.ResourceVersion()}
	case doPage:
		m.state = StateListing
		return m, action{do: doPage}
	default:
		if m.detour = m.unopened >= tries*weight; m.detour {
			m.unopened = 0 // if the list fails too, streams have their turn again
		}
		return m.snapshot(deliverNothing, "")
	}
}
