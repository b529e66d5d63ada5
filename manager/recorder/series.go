package recorder

import (
	"container/heap"
	"container/list"
	"math"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How often an event that goes on is written.
//
//	what                       when it is written
//	first occurrence           at once: the Event is created
//	the next, up to api.atOnce at once: it becomes a series with count 2, 3, ...
//	later ones                 refreshEvery after the last write, or at once if that is long ago
//	end of the series          nothing extra: the last count is written by the rule above
//	one after endsAfter        at once: it is new, and a new Event is created, unless api.goesOn
//
// With api.shared, all series about one object share the writes at once, and so do first
// occurrences: see budget.
//
// A series outlives the longest delay of a controller's retries, which is 1000 seconds. client-go's
// newer recorder ends it after 6 minutes and writes the count every 30 minutes.
const (
	refreshEvery = 5 * time.Minute
	endsAfter    = 20 * time.Minute
)

// How much a correlator holds at most, and how many different notes stay separate.
const (
	maxSeries = 4096
	maxNotes  = 10
)

const combinedPrefix = "(combined from similar events): "

// about is the identity of an event without its note. It leaves out the regarding object's
// resourceVersion. client-go includes it, so a controller that writes an object's status breaks the
// series.
type about struct {
	api                       *api
	controller, instance      string
	eventType, reason, action string
	regarding, related        corev1.ObjectReference
}

// seriesKey includes the note: "Host a is registered" must not hide that host b is. In client-go's
// newer recorder (v0.37.2, tools/events/event_broadcaster.go, getKey) a note is lost only if two
// come with one version of the object, because every change of the object begins another series. If
// the notes of an event keep changing, such as those with a time in them, they are combined: see
// maxNotes.
type seriesKey struct {
	about
	note string
}

type seriesState uint8

const (
	waiting seriesState = iota // in the heap: written when due
	writing                    // it's being written
	idle                       // in the list: the server has every occurrence
)

// series is one event and how often it happened.
type series struct {
	key seriesKey
	// event is as of its first occurrence, but renaming changes its name, and combining its note.
	event *eventsv1.Event
	state seriesState

	count     int32
	last      time.Time // of the newest occurrence
	written   int32     // occurrences that the server knows of; 0: there's no Event yet
	writtenAt time.Time // when the server got them
	failures  int       // writes that failed since then
	unsure    bool      // one of them, under the current name, may have reached the server

	due   time.Time     // while waiting
	order uint64        // breaks a tie between two that are due: first come, first served
	place *list.Element // place in the list, while idle
}

// budget is how often the events about one object may be written, if api.shared: as often as
// client-go's recorder would, which throws away what comes too early. Here it waits for its turn.
type budget struct {
	*rate.Limiter
	series int // how many series use it
}

// correlator holds all series of a program, and decides which one is written next. It's a pure
// state machine: the caller passes the time, holds a lock, and does the writing.
type correlator struct {
	all     map[seriesKey]*series
	alike   map[about]map[*series]bool // series that differ only in their notes
	budgets map[about]*budget          // by the object; reason and action are empty
	queue   seriesHeap                 // the waiting ones, but for those that are held back
	rest    list.List                  // the *series that are idle, longest first
	arrived uint64
	stopped bool // a write that fails isn't tried again

	// By namespace: how many writes are in flight, and the series that are due and wait until there
	// is none. So a namespace whose writes hang holds up no other one.
	underWay map[string]int
	heldBack map[string][]*series
}

func newCorrelator() *correlator {
	return &correlator{
		all: map[seriesKey]*series{}, alike: map[about]map[*series]bool{}, budgets: map[about]*budget{},
		underWay: map[string]int{}, heldBack: map[string][]*series{},
	}
}

// observe counts an occurrence. It returns false if the event is new and the correlator is full of
// events that couldn't be written yet.
func (c *correlator) observe(by *api, event *eventsv1.Event, now time.Time) bool {
	key := c.keyOf(by, event, now)
	if key.note == combinedPrefix {
		event.Note = shortened(combinedPrefix+event.Note, by.noteLimit)
	}
	s := c.all[key]
	if s != nil && s.pauses(now) && !by.goesOn {
		c.remove(s)
		s = nil
	}
	if s == nil {
		return c.open(key, event, now)
	}
	s.event.Note = event.Note // a combined series has the newest note
	if s.count < math.MaxInt32 {
		s.count++
	}
	s.last = now
	if s.state == idle {
		c.rest.Remove(s.place)
		c.wait(s, c.nextWrite(s, now))
	}
	return true
}

func (c *correlator) keyOf(by *api, event *eventsv1.Event, now time.Time) seriesKey {
	key := seriesKey{about: about{
		api: by, controller: event.ReportingController, instance: event.ReportingInstance,
		eventType: event.Type, reason: event.Reason, action: event.Action,
		regarding: event.Regarding,
	}}
	key.regarding.ResourceVersion = ""
	if event.Related != nil {
		key.related = *event.Related
		key.related.ResourceVersion = ""
	}
	key.note = event.Note
	if c.all[key] == nil && c.goingOn(key.about, now) >= maxNotes {
		key.note = combinedPrefix
	}
	return key
}

// goingOn counts the series that differ only in their notes, and don't pause.
func (c *correlator) goingOn(a about, now time.Time) (n int) {
	for s := range c.alike[a] {
		if !s.pauses(now) {
			n++
		}
	}
	return n
}

func (c *correlator) open(key seriesKey, event *eventsv1.Event, now time.Time) bool {
	if len(c.all) >= maxSeries {
		longest := c.rest.Front()
		if longest == nil {
			return false
		}
		c.remove(longest.Value.(*series))
	}
	s := &series{key: key, event: event, count: 1, last: now}
	c.all[key] = s
	if c.alike[key.about] == nil {
		c.alike[key.about] = map[*series]bool{}
	}
	c.alike[key.about][s] = true
	if by := key.api; by.shared {
		if c.budgets[key.object()] == nil {
			every := rate.Every(refreshEvery)
			c.budgets[key.object()] = &budget{Limiter: rate.NewLimiter(every, by.atOnce)}
		}
		c.budgets[key.object()].series++
	}
	c.wait(s, c.nextWrite(s, now))
	return true
}

func (c *correlator) remove(s *series) {
	if s.state == idle {
		c.rest.Remove(s.place)
	}
	delete(c.all, s.key)
	delete(c.alike[s.key.about], s)
	if len(c.alike[s.key.about]) == 0 {
		delete(c.alike, s.key.about)
	}
	if b := c.budgets[s.key.object()]; b != nil {
		if b.series--; b.series == 0 {
			delete(c.budgets, s.key.object())
		}
	}
}

// object is what the series that share a budget have in common.
func (a about) object() about {
	a.reason, a.action = "", "" // no event of the core group here has a related object
	return a
}

// pauses returns true if the server has every occurrence of a series, and the last one is so old
// that the next occurrence is a new event, unless api.goesOn.
func (s *series) pauses(now time.Time) bool {
	return s.state == idle && now.Sub(s.last) > endsAfter
}

// nextWrite is when a series with unwritten occurrences is written. A shared budget counts that.
func (c *correlator) nextWrite(s *series, now time.Time) time.Time {
	if b := c.budgets[s.key.object()]; b != nil {
		return now.Add(b.ReserveN(now, 1).DelayFrom(now))
	}
	if int(s.written) < s.key.api.atOnce {
		return now
	}
	if at := s.writtenAt.Add(refreshEvery); at.After(now) {
		return at
	}
	return now
}

func (c *correlator) wait(s *series, due time.Time) {
	c.arrived++
	s.state, s.due, s.order = waiting, due, c.arrived
	heap.Push(&c.queue, s)
}

// update is one write: the whole event, or only its series if the server has the event.
type update struct {
	series  *series
	api     *api
	event   *eventsv1.Event // with name and series
	created bool            // the server has it already
	unsure  bool            // see series
}

// next is when the next write is due; zero means never.
func (c *correlator) next() time.Time {
	if len(c.queue) == 0 {
		return time.Time{}
	}
	return c.queue[0].due
}

// take returns a write that is due. The caller does it, and then calls ended.
func (c *correlator) take(now time.Time) (update, bool) {
	s := c.pop(now)
	if s == nil {
		return update{}, false
	}
	c.underWay[s.event.Namespace]++
	s.state = writing
	u := update{
		series: s, api: s.key.api, event: s.event.DeepCopy(),
		created: s.written > 0, unsure: s.unsure,
	}
	if s.count > 1 {
		u.event.Series = &eventsv1.EventSeries{
			Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last),
		}
	}
	return u, true
}

// pop returns the series that is due first and that may be written now, or nil.
func (c *correlator) pop(now time.Time) *series {
	for len(c.queue) > 0 && (c.stopped || !c.queue[0].due.After(now)) {
		s := heap.Pop(&c.queue).(*series)
		namespace := s.event.Namespace
		if c.stopped || c.underWay[namespace] == 0 {
			return s
		}
		c.heldBack[namespace] = append(c.heldBack[namespace], s)
	}
	return nil
}

// release puts the series of a namespace back in their old places.
func (c *correlator) release(namespace string) {
	for _, s := range c.heldBack[namespace] {
		heap.Push(&c.queue, s)
	}
	delete(c.heldBack, namespace)
}

// ended handles the result of a write, and returns the final verdict: it gives up a write that has
// failed too often, or that failed after stop.
func (c *correlator) ended(u update, v verdict, now time.Time) verdict {
	s, namespace := u.series, u.event.Namespace
	if c.underWay[namespace]--; c.underWay[namespace] == 0 {
		delete(c.underWay, namespace)
		c.release(namespace)
	}
	switch v {
	case written:
		c.wrote(s, u.event.Series, now)
	case unsure, renamed:
		s.failures++
		if c.stopped || s.failures >= maxTries {
			c.remove(s)
			return unreachable
		}
		s.unsure = v == unsure
		c.wait(s, now.Add(pauseAfter(s.failures)))
	case unwanted:
		c.remove(s)
	case cutOff:
		c.wait(s, now) // and it stays there
	}
	return v
}

func (c *correlator) wrote(s *series, sent *eventsv1.EventSeries, now time.Time) {
	s.written, s.writtenAt, s.failures, s.unsure = 1, now, 0, false
	if sent != nil {
		s.written = sent.Count
	}
	if s.count > s.written {
		c.wait(s, c.nextWrite(s, now))
		return
	}
	s.state = idle
	s.place = c.rest.PushBack(s)
}

// stop makes every waiting write due, for the last time, beside others of its namespace, too.
func (c *correlator) stop() {
	c.stopped = true
	for namespace := range c.heldBack {
		c.release(namespace)
	}
}

// Attempts of one write: with delays of 1, 2, 4, ... 30 seconds the server may be unreachable for 3
// minutes.
const (
	maxTries     = 12
	longestPause = 30 * time.Second
)

func pauseAfter(failures int) time.Duration {
	return min(time.Second<<(failures-1), longestPause)
}

// seriesHeap has the series that is due first at its front.
type seriesHeap []*series

func (h seriesHeap) Len() int { return len(h) }
func (h seriesHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].order < h[j].order
}
func (h seriesHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *seriesHeap) Push(x any)   { *h = append(*h, x.(*series)) }
func (h *seriesHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
