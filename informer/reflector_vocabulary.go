package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// State is what a reflector is doing.
type State uint8

const (
	StateIdle       State = iota // it has not been started
	StateStreaming               // a WatchList: the initial events are coming
	StateListing                 // a list was asked for, whole or page by page
	StateConnecting              // the sink has a whole view; a watch was asked for
	StateWatching                // the watch is open: the view is kept up to date
	StateWaiting                 // a pause after a failure
	StateStopped                 // it was told to stop
)

// input is what happened: the answer to the last action's command.
type input struct {
	kind    inputKind
	event   watch.EventType // inEvent
	version string          // inEvent, inPage
	last    bool            // inEvent: the end of the initial events; inPage: the last page
	fault   fault           // inFailed
	asked   time.Duration   // inFailed: how long the server wants us to stay away
	at      time.Duration   // when it happened, on any clock that does not go back
	random  float64         // in [0, 1), for what is left to chance

	answered bool // inFailed: the server, or what stands before it, said no, and not because it was busy (429)
}

type inputKind uint8

const (
	inBegin  inputKind = iota // Run was called
	inOpened                  // the server accepted the stream or watch
	inEvent                   // an event that is no ERROR
	inPage                    // a list, or a page of it
	inEnded                   // the server ended the watch in good order
	inFailed                  // a request failed, a watch broke, or an ERROR event came
	inRested                  // the pause is over
	inStop                    // Run's context ended
)

// fault is all that the machine wants to know about an error.
type fault uint8

const (
	faultBroken      fault = iota // whatever may be better next time
	faultExpired                  // 410: the server has forgotten that resourceVersion
	faultTooLarge                 // the server has not heard of that resourceVersion yet
	faultUnsupported              // the server does not understand the request
	faultUnknownKind              // 404: there is no such resource (any more)
	faultStalled                  // it came to a standstill, and we cut it
)

// action is what to do now: first deliver, then do. Whatever was open is closed
// unless do is doRead.
type action struct {
	deliver delivery
	do      command
	version string        // to start from: exactly there (doWatch), or no older (doStream, doList); of deliverReplace and deliverProgress, too
	whole   bool          // doList: in one piece
	pause   time.Duration // doPause
	reason  string        // doPause, doStream, doList: what was wrong, if no error says so
}

type delivery string

const (
	deliverNothing  delivery = ""
	deliverCollect  delivery = "collect"  // put the event or page aside, until the view is whole
	deliverReplace  delivery = "replace"  // hand over all that was put aside
	deliverApply    delivery = "apply"    // hand over the event
	deliverProgress delivery = "progress" // hand over the bookmark
	deliverDiscard  delivery = "discard"  // forget what was put aside
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
