package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// State is what a reflector is doing.
type State uint8

const (
	StateIdle      State = iota // Run hasn't been called
	StateStreaming              // a WatchList: the initial events are arriving
	StateListing                // a list was requested, whole or page by page
	// the lists have no version to watch from: one is requested at intervals
	StatePolling
	StateConnecting // the sink has a whole view; a watch was requested
	StateWatching   // the watch is open: the view is kept up to date
	StateWaiting    // a pause after a failure
	StateStopped    // Run has returned
)

// String is the state's name.
func (s State) String() string {
	return [...]string{"idle", "streaming", "listing", "polling", "connecting", "watching", "waiting",
		"stopped"}[s]
}

// machine is everything that a reflector remembers, and step is everything that it decides. It's a
// value, without goroutine, clock, lock or client.
type machine struct {
	state   State
	backoff Backoff

	// What the sink has.
	cursor Cursor        // where the next watch begins; empty if a new view is needed
	floor  string        // the version of the sink's view; it outlives the cursor
	viewAt time.Duration // when the view was last made whole

	// How to request the next view.
	streams bool          // false once the server has refused WatchList
	polls   bool          // the last list had no version
	poll    time.Duration // the interval of such lists
	newest  bool          // request the newest there is instead of "no older than the floor"
	whole   bool          // list in one piece, because a continue token expired

	// What is in progress.
	next   command       // what follows the pause
	open   bool          // the server accepted the stream or watch
	openAt time.Duration // when it did; for a stream, when its initial events ended
	paged  bool          // pages were collected, and more will come

	// What the server lets us hear.
	bookmarks bool          // it has sent one, so each watch should get some
	heard     bool          // the open watch has got something
	quiet     time.Duration // how long watches have lived, in a row, that got nothing

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
		m.open, m.openAt, m.heard = true, in.at, false
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
	case inPaused:
		return m.afterPause()
	case inRenewed:
		m.newest, m.cursor = true, Cursor{}
		return m.snapshot(deliverDiscard, "")
	default:
		m.state = StateStopped
		return m, action{deliver: deliverDiscard, do: doStop}
	}
}

// failed decides what to do after an error, depending on what was being done.
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

// pause waits before next, a little longer each time. doStream stands for whatever snapshot chooses
// then.
func (m machine) pause(in input, next command, deliver delivery, reason string) (machine, action) {
	var pause time.Duration
	m.backoff, pause = m.backoff.Failed(in.asked, in.random)
	m.state, m.next, m.open = StateWaiting, next, false
	return m, action{deliver: deliver, do: doPause, pause: pause, reason: reason}
}

// afterPause goes on where the pause began.
func (m machine) afterPause() (machine, action) {
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

// input is what happened: the answer to the last action's command.
type input struct {
	kind    inputKind
	event   watch.EventType // inEvent
	version string          // inEvent, inPage
	last    bool            // inEvent: the end of the initial events; inPage: the last page
	fault   faultKind       // inFailed
	asked   time.Duration   // inFailed: how long the server asks us to wait (Retry-After)
	at      time.Duration   // when it happened, on any clock that doesn't go back
	random  float64         // in [0, 1), for what is left to chance
}

type inputKind uint8

const (
	inBegin   inputKind = iota // Run was called
	inOpened                   // the server accepted the stream or watch
	inEvent                    // an event other than ERROR
	inPage                     // a list, or a page of it
	inEnded                    // the server ended the watch in good order
	inFailed                   // a request failed, a watch broke, or an ERROR event came
	inPaused                   // the pause is over
	inRenewed                  // a new view is wanted, whatever was under way
	inStop                     // Run's context ended
)

// faultKind is everything that the machine wants to know about an error.
type faultKind uint8

const (
	faultBroken      faultKind = iota // anything that may be better next time
	faultStalled                      // nothing came for too long, and we cut the request
	faultExpired                      // 410: the server has forgotten that resourceVersion
	faultTooLarge                     // the server hasn't heard of that resourceVersion yet
	faultUnsupported                  // the server doesn't understand the request
	faultUnknownKind                  // 404: there's no such resource (any more)
	faultUnreadable                   // the server can't read an object in its own storage
	faultNone                         // there's nothing to stream, so list
)

// isTemporary says whether the same request may work the next time. A temporary
// fault loses nothing but time.
func (f faultKind) isTemporary() bool { return f == faultBroken || f == faultStalled }

// action is what to do now: first deliver, then do. Whatever was open is closed
// unless do is doRead.
type action struct {
	deliver delivery
	do      command
	// to start from: exactly there (doWatch), or no older (doStream, doList); of deliverReplace and
	// deliverProgress, too
	version string
	whole   bool          // doList: in one piece
	pause   time.Duration // doPause
	reason  string        // doPause, doStream, doList: what was wrong, if no error says so
}

type delivery string

const (
	deliverNothing  delivery = ""
	deliverCollect  delivery = "collect"  // keep the event or page until the view is whole
	deliverReplace  delivery = "replace"  // hand over all that was collected
	deliverApply    delivery = "apply"    // hand over the event
	deliverProgress delivery = "progress" // hand over the bookmark
	deliverDiscard  delivery = "discard"  // forget what was collected
)

type command string

const (
	doStop   command = "stop"
	doStream command = "stream" // open a watch that begins with what there is
	doList   command = "list"   // list, or ask for the first page
	doPage   command = "page"   // ask for the next page, or again for one that failed
	doWatch  command = "watch"  // open a watch
	doRead   command = "read"   // read the next event
	doPause  command = "pause"  // wait
)
