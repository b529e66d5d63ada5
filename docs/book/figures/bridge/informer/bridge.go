//go:build figures

// This file lets the figures of the book use the cores of package informer, which are not exported. It is compiled
// into that package by an overlay (docs/book/figures/build), and is no part of any other build. What reads a
// connection, and with it most of the package, is left out there.

package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/docs/book/figures/light/watch"
)

// Object is what the cores ask of an object. Outside of figures it is an API type.
type Object interface {
	GetNamespace() string
	GetName() string
	GetUID() types.UID
	GetResourceVersion() string
}

// Thing is an object of a figure.
type Thing struct {
	Name, UID, Version string
}

func (t *Thing) GetNamespace() string       { return "" }
func (t *Thing) GetName() string            { return t.Name }
func (t *Thing) GetUID() types.UID          { return types.UID(t.UID) }
func (t *Thing) GetResourceVersion() string { return t.Version }

// Key and KeyOf are those of store.go, which has imports that are too heavy for a page.
type Key = types.NamespacedName

func KeyOf[T Object](object T) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// DeltaType and Delta are what the informer has done to its store.
type DeltaType = deltaType

const (
	DeltaAdded   = deltaAdded
	DeltaUpdated = deltaUpdated
	DeltaDeleted = deltaDeleted
)

func (t deltaType) String() string {
	return [...]string{"Added", "Updated", "Deleted", "Sync"}[t-1]
}

type Delta struct {
	Type        DeltaType
	Object, Old *Thing
}

// Backlog is what a listener's handler has not heard yet.
type Backlog struct{ queue pendingNotifications[*Thing] }

// NewBacklog is that of a handler which asks for Coalesce, or does not.
func NewBacklog(coalesces bool) *Backlog {
	return &Backlog{pendingNotifications[*Thing]{coalesces: coalesces}}
}

// Add takes in what the informer has done to its store.
func (b *Backlog) Add(d Delta) {
	b.queue.add(delta[*Thing]{kind: d.Type, object: d.Object, old: d.Old})
}

// Pending is a notification: what it keeps, and what the handler will be told.
type Pending struct {
	Name           string
	Old, Last, Now *Thing // nil if the notification has none
	Calls          []Call
}

// Call is a call of the handler.
type Call struct {
	Method  string
	Objects []*Thing
}

// Pending are the notifications, in their order.
func (b *Backlog) Pending() (pending []Pending) {
	for _, n := range b.queue.waiting {
		pending = append(pending, lookAt(*n))
	}
	return pending
}

// Take hands out all of them.
func (b *Backlog) Take() (taken []Pending) {
	for n := b.queue.take(); n != nil; n = b.queue.take() {
		taken = append(taken, lookAt(*n))
	}
	return taken
}

func lookAt(n notification[*Thing]) Pending {
	p := Pending{Old: n.old}
	if n.deleted {
		p.Last = n.last
	}
	if n.exists {
		p.Now = n.object
	}
	n.deliver(HandlerFuncs[*Thing]{
		Add:    func(object *Thing, _ bool) { p.Calls = append(p.Calls, Call{"OnAdd", []*Thing{object}}) },
		Update: func(old, object *Thing) { p.Calls = append(p.Calls, Call{"OnUpdate", []*Thing{old, object}}) },
		Delete: func(object *Thing, _ bool) { p.Calls = append(p.Calls, Call{"OnDelete", []*Thing{object}}) },
	})
	p.Name = p.Calls[0].Objects[0].Name
	return p
}

// Machine is a reflector without its loop.
type Machine struct {
	machine machine
	at      time.Duration
}

// NewMachine is that of a reflector which asks for streams first, or does not.
func NewMachine(streams bool) *Machine {
	return &Machine{machine: machine{streams: streams, poll: 30 * time.Second}}
}

// Happening is what an API server, or time, can do to a reflector.
type Happening struct {
	Kind    string // begin, opened, event, page, ended, failed, paused
	Event   string // ADDED and so on
	Version string
	Last    bool
	Fault   string // broken, stalled, expired, too large, unsupported
	Asked   time.Duration
	After   time.Duration // since the last one
}

// Decision is what a reflector does then.
type Decision struct {
	Deliver, Do string
	Version     string
	Whole       bool
	Pause       time.Duration
	Reason      string
}

var inputKinds = map[string]inputKind{
	"begin": inBegin, "opened": inOpened, "event": inEvent, "page": inPage, "ended": inEnded, "failed": inFailed, "paused": inPaused,
}

var faultKinds = map[string]faultKind{
	"": faultBroken, "broken": faultBroken, "stalled": faultStalled, "expired": faultExpired, "too large": faultTooLarge, "unsupported": faultUnsupported,
}

// Step is the machine's own, in the middle of what chance could do.
func (m *Machine) Step(h Happening) Decision {
	m.at += h.After
	next, act := m.machine.step(input{
		kind: inputKinds[h.Kind], event: watch.EventType(h.Event), version: h.Version, last: h.Last,
		fault: faultKinds[h.Fault], asked: h.Asked, at: m.at, random: .5,
	})
	m.machine = next
	return Decision{string(act.deliver), string(act.do), act.version, act.whole, act.pause, act.reason}
}

// At is the time.
func (m *Machine) At() time.Duration { return m.at }

// Memory is what a machine remembers.
type Memory struct {
	State         string
	Cursor, Floor string
	Failures      int // in a row, for the length of the next pause
	Next          string
	Streams       bool
	Polls         bool
	Newest        bool
	Whole         bool
	Paged         bool
	Open          bool
	Counters      []Counter
}

// Counter counts how often in a row something went wrong in the same way.
type Counter struct {
	Name string
	N    int
}

// Tries is how far a counter counts.
const Tries = tries

// Memory is what the machine remembers now.
func (m *Machine) Memory() Memory {
	is := &m.machine
	return Memory{
		State: is.state.String(), Cursor: is.cursor.ResourceVersion(), Floor: is.floor, Failures: is.backoff.Failures(), Next: string(is.next),
		Streams: is.streams, Polls: is.polls, Newest: is.newest, Whole: is.whole, Paged: is.paged, Open: is.open,
		Counters: []Counter{
			{"failedStreams", is.failedStreams}, {"failedPages", is.failedPages}, {"failedLists", is.failedLists},
			{"brokenWatches", is.brokenWatches}, {"olderViews", is.olderViews},
		},
	}
}
