package recorder

import (
	"container/heap"
	"container/list"
	"math"
	"time"

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
// A series outlives the longest pause of a controller's retries, which is 1000 seconds. client-go's newer recorder
// ends it after 6 minutes and writes the count every 30 minutes.
const (
	refreshEvery = 5 * time.Minute
	endsAfter    = 20 * time.Minute
)

// What a book holds at most, and how many different notes stay apart.
const (
	maxSeries = 4096
	maxNotes  = 10
)

const combinedPrefix = "(combined from similar events): "

// about is what makes two occurrences the same event. The regarding object's resourceVersion is not
// part of it: in client-go it is, so that a controller that writes an object's status breaks the series.
type about struct {
	api                       *api
	controller, instance      string
	eventType, reason, action string
	regarding, related        corev1.ObjectReference
}

// seriesKey tells notes apart, too: "Host a is registered" must not hide that host b is. In client-go's
// newer recorder (v0.37.2, tools/events/event_broadcaster.go, getKey) a note is lost only if two come with one
// version of the object, because every change of the object begins another series. Notes without end, such as those
// with a time in them, are combined: see maxNotes.
type seriesKey struct {
	about
	note string
}

type seriesState uint8

const (
	waiting seriesState = iota // in the heap: to be written when due
	writing                    // the loop holds it
	idle                       // in the list: the server has all there is
)

// series is one event and how often it happened.
type series struct {
	key   seriesKey
	event *eventsv1.Event // as of its first occurrence; its name may change, see renamed, and the note of a combined one
	state seriesState

	count     int32     // occurrences
	last      time.Time // the newest of them
	written   int32     // occurrences that the server knows of; 0 is: no Event yet
	writtenAt time.Time // when it learned that
	failures  int       // writes that failed since then
	unsure    bool      // one of them, under the present name, may have reached the server

	due   time.Time     // while waiting
	order uint64        // breaks a tie between two that are due: first come, first served
	place *list.Element // place in the list, while idle
}

// book knows all series of a program, and which of them is written next. It is a pure state: the caller
// brings the time, holds a lock, and does the writing.
type book struct {
	all     map[seriesKey]*series
	alike   map[about]map[*series]bool // those that differ in nothing but their notes
	queue   seriesHeap                 // those that wait
	rest    list.List                  // the *series that are idle, longest first
	arrived uint64
	stopped bool // what fails is not tried again
}

func newBook() *book { return &book{all: map[seriesKey]*series{}, alike: map[about]map[*series]bool{}} }

// observe counts an occurrence. It returns false if the book is full of events that nobody could write
// yet, and the occurrence is of another one.
func (b *book) observe(by *api, event *eventsv1.Event, now time.Time) bool {
	key := b.keyOf(by, event, now)
	if key.note == combinedPrefix {
		event.Note = shortened(combinedPrefix+event.Note, by.noteLimit)
	}
	s := b.all[key]
	if s != nil && s.pauses(now) && !by.goesOn {
		b.remove(s)
		s = nil
	}
	if s == nil {
		return b.open(key, event, now)
	}
	s.event.Note = event.Note // of a combined one, the newest
	if s.count < math.MaxInt32 {
		s.count++
	}
	s.last = now
	if s.state == idle {
		b.rest.Remove(s.place)
		b.wait(s, s.nextWrite(now))
	}
	return true
}

func (b *book) keyOf(by *api, event *eventsv1.Event, now time.Time) seriesKey {
	key := seriesKey{about: about{
		api: by, controller: event.ReportingController, instance: event.ReportingInstance,
		eventType: event.Type, reason: event.Reason, action: event.Action, regarding: event.Regarding,
	}}
	key.regarding.ResourceVersion = ""
	if event.Related != nil {
		key.related = *event.Related
		key.related.ResourceVersion = ""
	}
	key.note = event.Note
	if b.all[key] == nil && b.goingOn(key.about, now) >= maxNotes {
		key.note = combinedPrefix
	}
	return key
}

// goingOn counts the series that differ in nothing but their notes.
func (b *book) goingOn(a about, now time.Time) (n int) {
	for s := range b.alike[a] {
		if !s.pauses(now) {
			n++
		}
	}
	return n
}

func (b *book) open(key seriesKey, event *eventsv1.Event, now time.Time) bool {
	if len(b.all) >= maxSeries {
		longest := b.rest.Front()
		if longest == nil {
			return false
		}
		b.remove(longest.Value.(*series))
	}
	s := &series{key: key, event: event, count: 1, last: now}
	b.all[key] = s
	if b.alike[key.about] == nil {
		b.alike[key.about] = map[*series]bool{}
	}
	b.alike[key.about][s] = true
	b.wait(s, now)
	return true
}

func (b *book) remove(s *series) {
	if s.state == idle {
		b.rest.Remove(s.place)
	}
	delete(b.all, s.key)
	delete(b.alike[s.key.about], s)
	if len(b.alike[s.key.about]) == 0 {
		delete(b.alike, s.key.about)
	}
}

// pauses returns true if the server has all of a series, and nothing has happened for so long that the next
// occurrence is a new event.
func (s *series) pauses(now time.Time) bool { return s.state == idle && now.Sub(s.last) > endsAfter }

// nextWrite is when a series with news is written.
func (s *series) nextWrite(now time.Time) time.Time {
	if s.written < s.key.api.atOnce {
		return now
	}
	if at := s.writtenAt.Add(refreshEvery); at.After(now) {
		return at
	}
	return now
}

func (b *book) wait(s *series, due time.Time) {
	b.arrived++
	s.state, s.due, s.order = waiting, due, b.arrived
	heap.Push(&b.queue, s)
}

// update is what is to be written: all of the event, or only its series if the server has the event.
type update struct {
	series  *series
	api     *api
	event   *eventsv1.Event // with name and series
	created bool            // the server has it already
	unsure  bool            // see series
}

// next is when something will be due; zero means never.
func (b *book) next() time.Time {
	if len(b.queue) == 0 {
		return time.Time{}
	}
	return b.queue[0].due
}

// take returns what is due.
func (b *book) take(now time.Time) (update, bool) {
	if len(b.queue) == 0 || b.queue[0].due.After(now) && !b.stopped {
		return update{}, false
	}
	s := heap.Pop(&b.queue).(*series)
	s.state = writing
	u := update{series: s, api: s.key.api, event: s.event.DeepCopy(), created: s.written > 0, unsure: s.unsure}
	if s.count > 1 {
		u.event.Series = &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	return u, true
}

// ended takes in what came of a write, and returns what comes of the series: a write that would be
// tried again too often, or at the end, is given up.
func (b *book) ended(u update, v verdict, now time.Time) verdict {
	s := u.series
	switch v {
	case written:
		b.wrote(s, u.event.Series, now)
	case unsure, renamed:
		s.failures++
		if b.stopped || s.failures >= maxTries {
			b.remove(s)
			return unreachable
		}
		s.unsure = v == unsure
		b.wait(s, now.Add(pauseAfter(s.failures)))
	case unwanted:
		b.remove(s)
	}
	return v
}

func (b *book) wrote(s *series, sent *eventsv1.EventSeries, now time.Time) {
	s.written, s.writtenAt, s.failures, s.unsure = 1, now, 0, false
	if sent != nil {
		s.written = sent.Count
	}
	if s.count > s.written {
		b.wait(s, s.nextWrite(now))
		return
	}
	s.state = idle
	s.place = b.rest.PushBack(s)
}

// stop makes everything due that waits, for the last time.
func (b *book) stop() { b.stopped = true }

// Tries of one write: with pauses of 1, 2, 4, ... 30 seconds the server may be away for 3 minutes.
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
