package recorder

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func occurrence(name, note string) *eventsv1.Event {
	return &eventsv1.Event{Type: "Normal", Reason: "Scaled", Action: "Scale", Note: note,
		ReportingController: "c", ReportingInstance: "c-1",
		Regarding: corev1.ObjectReference{Kind: "Website", Namespace: "shop", Name: name}}
}

// play is a correlator with a clock, and what was written of it.
type play struct {
	*testing.T
	*correlator
	now    time.Time
	server map[string]int32 // by the event's name and note
	writes int
}

func playing(t *testing.T) *play {
	return &play{T: t, correlator: newCorrelator(), now: epoch, server: map[string]int32{}}
}

func (p *play) observe(event *eventsv1.Event) bool {
	return p.correlator.observe(currentAPI, event, p.now)
}
func key(p *play, name string) seriesKey {
	return p.keyOf(currentAPI, occurrence(name, "n"), p.now)
}
func (p *play) pass(d time.Duration) { p.now = p.now.Add(d) }

// writeAll writes what is due.
func (p *play) writeAll() (n int) {
	for {
		u, due := p.take(p.now)
		if !due {
			return n
		}
		n++
		if u.event.Series != nil {
			require.Equal(p, u.series.last, u.event.Series.LastObservedTime.Time)
		}
		p.keep(u)
		require.Equal(p, written, p.ended(u, written, p.now))
	}
}

func (p *play) keep(u update) {
	p.writes++
	count := int32(1)
	if u.event.Series != nil {
		count = u.event.Series.Count
	}
	p.server[u.event.Regarding.Name+"/"+u.event.Note] = count
}

func TestTheFirstTwoOccurrencesAreWrittenAtOnceAndTheOthersAtIntervals(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	require.Equal(t, 1, p.writeAll())
	p.pass(time.Second)
	p.observe(occurrence("a", "n"))
	require.Equal(t, 1, p.writeAll(), "a series begins")
	require.Equal(t, int32(2), p.server["a/n"])
	for range 10 {
		p.pass(time.Second)
		p.observe(occurrence("a", "n"))
		require.Zero(t, p.writeAll(), "a flood of one event is no flood of writes")
	}
	require.Equal(t, epoch.Add(time.Second+refreshEvery), p.next())
	p.pass(refreshEvery)
	require.Equal(t, 1, p.writeAll())
	require.Equal(t, int32(12), p.server["a/n"],
		"the last count is written, though nothing happens any more")
	require.Zero(t, p.next())
}

func TestARareEventIsWrittenEachTimeAtOnce(t *testing.T) {
	p := playing(t)
	for n := range 5 {
		p.observe(occurrence("a", "n"))
		require.Equal(t, 1, p.writeAll())
		require.Equal(t, int32(n+1), p.server["a/n"])
		p.pass(endsAfter)
	}
}

func TestAnEventAfterALongPauseIsANewOne(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	p.observe(occurrence("a", "n"))
	p.writeAll()
	p.pass(endsAfter + 1)
	p.observe(occurrence("a", "later"))
	u, due := p.take(p.now)
	require.True(t, due)
	require.False(t, u.created)
	require.Nil(t, u.event.Series)
	require.Equal(t, "later", u.event.Note)
}

// A pause does not end a series that the server has not seen: nothing of it may be lost.
func TestASeriesThatCouldNotBeWrittenYetDoesNotEnd(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	p.pass(endsAfter + 1)
	p.observe(occurrence("a", "n"))
	p.writeAll()
	require.Equal(t, int32(2), p.server["a/n"])
	require.Equal(t, 1, p.writes)
}

func TestWhatTellsEventsApart(t *testing.T) {
	changes := map[string]func(*eventsv1.Event){
		"type":       func(e *eventsv1.Event) { e.Type = "Warning" },
		"reason":     func(e *eventsv1.Event) { e.Reason = "Other" },
		"action":     func(e *eventsv1.Event) { e.Action = "Other" },
		"controller": func(e *eventsv1.Event) { e.ReportingController = "d" },
		"instance":   func(e *eventsv1.Event) { e.ReportingInstance = "c-2" },
		"object":     func(e *eventsv1.Event) { e.Regarding.Name = "b" },
		"uid":        func(e *eventsv1.Event) { e.Regarding.UID = "2" },
		"note":       func(e *eventsv1.Event) { e.Note = "another" },
		"related":    func(e *eventsv1.Event) { e.Related = &corev1.ObjectReference{Name: "pod"} },
	}
	p := playing(t)
	p.observe(occurrence("a", "n"))
	for name, change := range changes {
		e := occurrence("a", "n")
		change(e)
		require.True(t, p.observe(e), name)
	}
	require.Len(t, p.all, 1+len(changes))
	same := occurrence("a", "n")
	same.Regarding.ResourceVersion = "42"
	p.observe(same)
	require.Len(t, p.all, 1+len(changes), "a new version of the object makes no other event")
	related := occurrence("a", "n")
	related.Related = &corev1.ObjectReference{Name: "pod", ResourceVersion: "42"}
	p.observe(related)
	require.Len(t, p.all, 1+len(changes))
	require.Equal(t, "42", related.Related.ResourceVersion, "what is written keeps the version")
}

func TestNotesStayApartUntilThereAreTooMany(t *testing.T) {
	p := playing(t)
	for n := range 15 {
		require.True(t, p.observe(occurrence("a", fmt.Sprint("pod ", n))))
	}
	p.observe(occurrence("a", "pod 3"))
	p.writeAll()
	require.Len(t, p.server, maxNotes+1)
	require.Equal(t, int32(2), p.server["a/pod 3"])
	require.Equal(t, int32(5), p.server["a/(combined from similar events): pod 14"])

	p.observe(occurrence("b", "pod 3"))
	p.writeAll()
	require.Equal(t, int32(1), p.server["b/pod 3"],
		"another object's messages are counted on their own")

	p.pass(endsAfter + 1)
	p.observe(occurrence("a", "pod 16"))
	p.writeAll()
	require.Equal(t, int32(1), p.server["a/pod 16"],
		"there is room again when the old ones have ended")
}

func TestAFailedWriteIsTriedAgainLaterAndDelaysNobody(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	p.observe(occurrence("b", "n"))
	u, _ := p.take(p.now)
	require.Equal(t, unsure, p.ended(u, unsure, p.now))
	require.Equal(t, 1, p.writeAll(), "the other one")
	require.Equal(t, p.now.Add(time.Second), p.next())
	p.observe(occurrence("a", "n"))
	require.Zero(t, p.writeAll(), "a repetition does not hurry a server that is away")
	p.pass(time.Second)
	u, due := p.take(p.now)
	require.True(t, due)
	require.True(t, u.unsure)
	require.Equal(t, int32(2), u.event.Series.Count, "what happened in the meantime goes along")
}

func TestAWriteIsGivenUpInTheEnd(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	var pauses []time.Duration
	for {
		u, due := p.take(p.now)
		require.True(t, due)
		if p.ended(u, unsure, p.now) == unreachable {
			break
		}
		pauses = append(pauses, p.next().Sub(p.now))
		p.now = p.next()
	}
	s := time.Second
	require.Equal(t, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s, 30 * s,
		30 * s, 30 * s}, pauses)
	require.Empty(t, p.all)
	require.Empty(t, p.alike)
}

func TestWhatTheServerRefusesIsForgotten(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	u, _ := p.take(p.now)
	p.observe(occurrence("a", "n"))
	require.Equal(t, unwanted, p.ended(u, unwanted, p.now))
	require.Empty(t, p.all)
	require.Zero(t, p.next())
}

// With a name that somebody else has, "already exists" must not be taken for our own success later.
func TestAfterAnotherNameTheNextTryIsSure(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	for _, v := range []verdict{unsure, renamed} {
		u, _ := p.take(p.now)
		p.ended(u, v, p.now)
		p.now = p.next()
	}
	u, _ := p.take(p.now)
	require.False(t, u.unsure)
}

func TestTheBookIsBounded(t *testing.T) {
	p := playing(t)
	for n := range maxSeries {
		require.True(t, p.observe(occurrence(fmt.Sprint(n), "n")))
	}
	require.False(t, p.observe(occurrence("one too many", "n")), "all of them wait to be written")
	require.True(t, p.observe(occurrence("7", "n")), "the same again only counts")
	u, _ := p.take(p.now)
	require.False(t, p.observe(occurrence("one too many", "n")), "one is being written")
	p.ended(u, written, p.now)
	require.True(t, p.observe(occurrence("one too many", "n")),
		"the one that was written makes room")
	require.Len(t, p.all, maxSeries)
	require.NotContains(t, p.all, u.series.key)
}

func TestTheLongestIdleMakesRoomFirst(t *testing.T) {
	p := playing(t)
	for n := range maxSeries {
		p.observe(occurrence(fmt.Sprint(n), "n"))
	}
	p.writeAll()
	p.observe(occurrence("0", "n"))
	p.writeAll()
	p.observe(occurrence("new", "n"))
	require.NotContains(t, p.all, key(p, "1"))
	require.Contains(t, p.all, key(p, "0"))
}

func TestAtTheEndEverythingIsWrittenOnce(t *testing.T) {
	p := playing(t)
	for range 3 {
		p.observe(occurrence("a", "n"))
		p.observe(occurrence("b", "n"))
		p.writeAll()
	}
	p.stop()
	u, due := p.take(p.now)
	require.True(t, due, "a count that would wait for its time")
	require.Equal(t, int32(3), u.event.Series.Count)
	require.Equal(t, unreachable, p.ended(u, unsure, p.now), "there is no later try")
	require.Equal(t, 1, p.writeAll())
}

// Whatever happens, in any order: the server ends up with the number of occurrences, or the event
// is lost and nothing of it is left in the correlator.
func TestNoOccurrenceIsForgottenOnTheWay(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 14))
		p := playing(t)
		happened := map[string]int32{}
		held := map[string]update{} // by namespace
		namespaces := map[string]string{"a": "one", "b": "one", "c": "two"}
		for range 200 {
			one := []string{"one", "two"}[random.IntN(2)]
			under, isHeld := held[one]
			switch random.IntN(5) {
			case 0, 1:
				name := string(rune('a' + random.IntN(3)))
				event := occurrence(name, "n")
				event.Namespace = namespaces[name]
				require.True(t, p.observe(event))
				happened[name]++
			case 2:
				if u, due := p.take(p.now); due {
					require.NotContains(t, held, u.event.Namespace, "seed %d", seed)
					held[u.event.Namespace] = u
				}
			case 3:
				if isHeld {
					v := []verdict{written, written, unsure, renamed}[random.IntN(4)]
					if v == written {
						p.keep(under)
					}
					if p.ended(under, v, p.now) == unreachable {
						delete(happened, under.event.Regarding.Name)
						delete(p.server, under.event.Regarding.Name+"/n")
					}
					delete(held, one)
				}
			case 4:
				p.pass(time.Duration(random.Int64N(int64(30 * time.Second))))
			}
			waiting := len(p.queue)
			for _, back := range p.heldBack {
				waiting += len(back)
			}
			require.Equal(t, len(p.all), waiting+p.rest.Len()+len(held), "seed %d", seed)
		}
		for _, u := range held {
			p.keep(u)
			p.ended(u, written, p.now)
		}
		require.Empty(t, p.heldBack, "seed %d", seed)
		p.stop()
		p.writeAll()
		for name, n := range happened {
			s := p.all[key(p, name)]
			require.NotNil(t, s, "seed %d", seed)
			require.Equal(t, n, s.count, "seed %d: %s", seed, name)
			require.Equal(t, n, p.server[name+"/n"], "seed %d: %s", seed, name)
		}
	}
}
