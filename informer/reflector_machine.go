package informer

import "time"

// State is what a reflector is doing.
type State uint8

const (
	StateIdle       State = iota // Run has not been called
	StateStreaming               // a WatchList: the initial events are coming
	StateListing                 // a list was asked for, whole or page by page
	StatePolling                 // the lists have no version to watch from: one is asked for at intervals
	StateConnecting              // the sink has a whole view; a watch was asked for
	StateWatching                // the watch is open: the view is kept up to date
	StateWaiting                 // a pause after a failure
	StateStopped                 // Run has returned
)

// machine is all that a reflector remembers, and step is all that it decides.
// It is a value, without goroutine, clock, lock or client.
type machine struct {
	state   State
	backoff Backoff

	// What the sink has.
	cursor Cursor        // where the next watch begins; empty if a new view is needed
	floor  string        // the version of the sink's view; it outlives the cursor
	viewAt time.Duration // when the view was last made whole

	// How the next view is asked for.
	streams bool          // false once the server has refused WatchList
	polls   bool          // the last list had no version
	poll    time.Duration // the interval of such lists
	newest  bool          // ask for the newest there is instead of "no older than the floor"
	whole   bool          // list in one piece, because a continue token expired

	// What is under way.
	next   command       // what follows the pause
	open   bool          // the server accepted the stream or watch
	openAt time.Duration // when it did; for a stream, when its initial events ended
	paged  bool          // pages were collected, and more will come

	// Counters. Each counts how often in a row something went wrong in the same
	// way. At tries, another way is tried:
	//
	//	counter        counts                                 consequence
	//	failedStreams  streams that ended before the view     this view is listed
	//	               was whole; one that stalls counts
	//	               as many as tries
	//	failedPages    later pages that failed                the list starts over
	//	failedLists    lists that were given up               ask for the newest, in pages
	//	brokenWatches  watches that broke soon after they     a new view
	//	               began, without an event
	//	olderViews     views that are older than the floor,   the floor is forgotten: the
	//	               though the newest was asked for        server's history went back
	//
	// A whole view sets all but brokenWatches to zero; an event, or a watch that
	// lived, brokenWatches; a page, failedPages.
	failedStreams, failedPages, failedLists, brokenWatches, olderViews int
}

// tries is how often in a row something may go wrong in the same way before
// another way is tried.
const tries = 3

// step takes the machine from one state to the next.
func (m machine) step(in input) (machine, action) {
	switch in.kind {
	case inBegin:
		return m.snapshot(deliverNothing, "")
	case inOpened:
		m.open, m.openAt = true, in.at
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
		return m.pageCame(in)
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

// failed decides what to do after an error, by what was being done.
func (m machine) failed(in input) (machine, action) {
	switch m.state {
	case StateStreaming:
		return m.streamFailed(in)
	case StateListing, StatePolling:
		return m.listFailed(in)
	default:
		return m.watchFailed(in)
	}
}

// rest pauses before next, a little longer each time. doStream stands for
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
		return m.connect(deliverNothing)
	case doPage:
		m.state = m.listState()
		return m, action{do: doPage}
	default:
		return m.snapshot(deliverNothing, "")
	}
}

// connect watches from the cursor, without a pause.
func (m machine) connect(deliver delivery) (machine, action) {
	m.state, m.open = StateConnecting, false
	return m, action{deliver: deliver, do: doWatch, version: m.cursor.ResourceVersion()}
}
