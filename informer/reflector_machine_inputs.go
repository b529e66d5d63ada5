package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// input is what happened: the answer to the last action's command.
type input struct {
	kind    inputKind
	event   watch.EventType // inEvent
	version string          // inEvent, inPage
	last    bool            // inEvent: the end of the initial events; inPage: the last page
	fault   faultKind       // inFailed
	asked   time.Duration   // inFailed: how long the server asks us to wait (Retry-After)
	at      time.Duration   // when it happened, on any clock that does not go back
	random  float64         // in [0, 1), for what is left to chance
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

// faultKind is all that the machine wants to know about an error.
type faultKind uint8

const (
	faultBroken      faultKind = iota // whatever may be better next time
	faultStalled                      // nothing came for too long, and we cut the request
	faultExpired                      // 410: the server has forgotten that resourceVersion
	faultTooLarge                     // the server has not heard of that resourceVersion yet
	faultUnsupported                  // the server does not understand the request
	faultUnknownKind                  // 404: there is no such resource (any more)
	faultUnreadable                   // the server cannot read an object in its own storage
)

// isTemporary says whether the same request may work the next time. A temporary
// fault loses nothing but time.
func (f faultKind) isTemporary() bool { return f == faultBroken || f == faultStalled }

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
