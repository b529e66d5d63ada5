package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
)

// Mishap is something that goes wrong in a wild World: a value that can be printed in a line, and
// left out when a day is shrunk.
type Mishap struct {
	// Name says what goes wrong; the numbers follow a colon.
	Name  string
	Fault fakeapi.Fault // of the controllers' requests, unless there's a Begin
	// Begin makes the mishap happen. It returns what ends it, or nil.
	Begin func(*World) (end func())
	// Blinds says that the controllers may be unable to watch while it lasts.
	Blinds bool
	// Lasts is how long what it did may go on when it's over. The day's rest is at least as long.
	Lasts time.Duration
	// losesAnswers says that Begin lets the server carry writes out whose answers don't arrive.
	losesAnswers bool
	// Bends are the promises that the controllers' contract doesn't keep in the face of it: see
	// promises.go.
	Bends []Promise
}

// LosesAnswers reports whether the server may carry a write out of which the controllers don't know.
func (m Mishap) LosesAnswers() bool { return m.losesAnswers || m.Fault.LoseResponse }

// String returns the mishap in a line, with its numbers.
func (m Mishap) String() string {
	f, details := m.Fault, []string{}
	add := func(is bool, format string, args ...any) {
		if is {
			details = append(details, fmt.Sprintf(format, args...))
		}
	}
	about := strings.TrimSpace(nameOf(f.Match.Verb, f.Match.Resource, f.Match.Subresource))
	add(about != "", "%s", about)
	add(f.Probability > 0, "%.0f %% of the requests", f.Probability*100)
	add(f.Status != nil, "%s", statusName(f))
	add(f.Refuse, "the server doesn't see them")
	add(f.LoseResponse, "the server carries them out")
	add(f.Delay > 0, "%v late", f.Delay)
	add(f.DelayEvents > 0, "each event %v late", f.DelayEvents)
	add(f.CutAfterEvents > 0, "after %d events", f.CutAfterEvents)
	add(f.CutAfter > 0, "after %v", f.CutAfter)
	add(f.CutAbruptly, "abruptly")
	if len(details) == 0 {
		return m.Name
	}
	return m.Name + " (" + strings.Join(details, ", ") + ")"
}

func statusName(f fakeapi.Fault) string {
	if f.Status == nil {
		return ""
	}
	return fmt.Sprint(f.Status.Code, " ", f.Status.Reason)
}

// begun is a mishap under way.
type begun struct {
	Mishap
	end  func()
	last int // the step after which it ends
}

// begin makes a mishap happen, until the end of a step.
func (w *World) begin(m Mishap, last int) {
	kind, _, _ := strings.Cut(m.Name, ":")
	w.Count("mishap: " + kind)
	w.Tell("mishap: %s", m)
	w.restFor = max(w.restFor, m.Lasts)
	for _, p := range m.Bends {
		w.bend(p)
	}
	end := func() {}
	if m.Begin == nil {
		m.Fault.Match.UserAgent = Agent + m.Fault.Match.UserAgent
		m.Fault.OnHit = func(fakeapi.Request) { w.Count("fault: " + m.Name) }
		end = w.Server.Inject(m.Fault)
	} else if ends := m.Begin(w); ends != nil {
		end = ends
	}
	w.running = append(w.running, &begun{m, end, last})
}

// finish ends the mishaps that are over.
func (w *World) finish(isOver func(*begun) bool) {
	left := w.running[:0:0]
	for _, b := range w.running {
		if !isOver(b) {
			left = append(left, b)
			continue
		}
		b.end()
		if b.Name != "" {
			w.Tell("over: %s", b.Mishap)
		}
		for _, p := range b.Bends {
			w.unbend(p)
		}
	}
	w.running = left
}

// calm ends all mishaps.
func (w *World) calm() {
	w.finish(func(*begun) bool { return true })
	w.Tell("no more mishaps")
}

// OfRequests are mishaps that may happen to any client that doesn't watch.
func OfRequests(random *rand.Rand, often float64) []Mishap {
	seed := random.Uint64()
	all := []Mishap{
		{Name: "refused", Fault: fakeapi.Fault{Refuse: true}, Blinds: true},
		{Name: "answer lost", Fault: fakeapi.Fault{LoseResponse: true}, Blinds: true},
		{Name: "conflict", Fault: fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update|patch"}, Status: fakeapi.Conflict(),
		}},
		{Name: "too many requests", Fault: fakeapi.Fault{
			Status: fakeapi.TooManyRequests(int32(random.IntN(3))),
		}, Blinds: true},
		{Name: "unavailable", Fault: fakeapi.Fault{Status: fakeapi.Unavailable()}, Blinds: true},
		{Name: "slow", Fault: fakeapi.Fault{Delay: milliseconds(random, 3000)}, Blinds: true},
	}
	for i := range all {
		all[i].Fault.Probability, all[i].Fault.Seed = often, seed
	}
	return all
}

// OfWatches are mishaps of watches and of the lists before them. What they show is late, or it comes in
// another way, but it isn't false.
func OfWatches(random *rand.Rand, often float64) []Mishap {
	watch := fakeapi.Match{Verb: "watch"}
	read := fakeapi.Match{Verb: []string{"list", "watch"}[random.IntN(2)]}
	return []Mishap{
		{Name: "expired", Fault: fakeapi.Fault{
			Match: read, Status: fakeapi.Expired(), Probability: often,
		}, Blinds: true},
		{Name: "watch cut", Fault: fakeapi.Fault{
			Match: watch, CutAfterEvents: 1 + random.IntN(4), CutAbruptly: random.IntN(2) == 0,
		}},
		{Name: "watch cut in time", Fault: fakeapi.Fault{
			Match: watch, CutAfter: time.Duration(10+random.IntN(50)) * time.Second,
		}},
		{Name: "watch late", Fault: fakeapi.Fault{
			Match: watch, DelayEvents: milliseconds(random, 2000),
		}},
		{Name: "no WatchList", Fault: fakeapi.Fault{Match: watch, NoWatchList: true}},
		{Name: "no end of the initial events",
			Fault: fakeapi.Fault{Match: watch, NoInitialEventsEnd: true}},
		lagging(random), skipping(random),
	}
}

// general are mishaps that may happen to any controllers.
func general(random *rand.Rand, often float64) []Mishap {
	all := append(OfRequests(random, often), OfWatches(random, often)...)
	return append(all,
		travelling(random), doubled(random), skewed(random),
		Answering(random, hostile.Ops...), Answering(random, hostile.Ops...),
		Answering(random, hostile.Ops...),
	)
}

func milliseconds(random *rand.Rand, most int) time.Duration {
	return time.Duration(1+random.IntN(most)) * time.Millisecond
}

// compacted makes the server forget its history: watches that come back get a 410.
func compacted() Mishap {
	return Mishap{Name: "compaction: the server forgets its history", Begin: func(w *World) func() {
		synctest.Wait() // until all watches have sent their events
		w.Server.CompactAll()
		return nil
	}}
}

// crashing lets the process die after the next writes of a kind.
func crashing(random *rand.Rand, match fakeapi.Match) Mishap {
	skip, times := random.IntN(3), 1+random.IntN(4)/3*2
	name := fmt.Sprintf("crash: after the write %s",
		nameOf(match.Verb, match.Resource, match.Subresource))
	if skip > 0 {
		name += fmt.Sprintf(", but for the first %d", skip)
	}
	if times > 1 {
		name += fmt.Sprintf(", and so do the next %d", times-1)
	}
	return Mishap{Name: name, Begin: func(w *World) func() {
		return w.crashAfter(match, skip, times)
	}}
}

// lagging holds all watches back, open ones included. What happened meanwhile arrives later, one
// state after the other.
func lagging(random *rand.Rand) Mishap {
	held := time.Duration(5+random.IntN(85)) * time.Second
	return Mishap{Name: fmt.Sprintf("stale views: the watches are held back for %v", held),
		Begin: func(w *World) func() {
			w.network.Begin(hostile.Attack{
				Fault: hostile.Find("stale"), On: hostile.Watch, For: held,
			})
			return nil
		}}
}

// skipping is lagging whose end the watches don't live to see: the server has forgotten the history,
// and the new lists show only the last states.
func skipping(random *rand.Rand) Mishap {
	held := time.Duration(5+random.IntN(55)) * time.Second
	return Mishap{
		Name: fmt.Sprintf("missed states: the watches are held back for %v, then all relist", held),
		Begin: func(w *World) func() {
			w.network.Begin(hostile.Attack{
				Fault: hostile.Find("stale"), On: hostile.Watch, For: held,
			})
			w.Go(func() {
				select {
				case <-w.done:
				case <-time.After(held - time.Second):
					time.Sleep(time.Nanosecond) // until the judge's watches have sent what happens now
					w.Server.CompactAll()
					w.network.Cut()
				}
			})
			return nil
		}}
}

// travelling restarts the process, and its first lists come from an API server that lags behind. An
// API server without consistent lists from its cache may do that, and one with WatchList doesn't.
func travelling(random *rand.Rand) Mishap {
	back := uint64(1 + random.IntN(12))
	return Mishap{
		Name: fmt.Sprintf("time travel: a restart, and the lists are %d writes old", back),
		// The new process knows none of the writes of the old one but those that the list shows.
		Bends: []Promise{NeverMore, NeverFewer, NotTwice, StaysReleased}, Blinds: true,
		Begin: func(w *World) func() {
			if w.isDown() {
				return nil
			}
			stale := w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{UserAgent: Agent, Verb: "list"}, Stale: back,
			})
			lists := w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{UserAgent: Agent, Verb: "watch"}, NoWatchList: true,
			})
			w.Restart()
			time.Sleep(2 * time.Second)
			stale()
			return lists
		}}
}

// doubled lets the old process go on for a while beside the new one, as one does that hasn't noticed
// yet that it lost its lease.
func doubled(random *rand.Rand) Mishap {
	beside := time.Duration(1+random.IntN(60)) * time.Second
	return Mishap{
		Name: fmt.Sprintf("two at once: the old process goes on beside the new one for %v", beside),
		// Neither knows the other's writes before its watch shows them: that's what the lease is for.
		Bends: []Promise{NeverMore, NeverFewer, NotTwice, StaysReleased},
		Begin: func(w *World) func() { return w.startBeside(beside) },
	}
}

// skewed makes the kubelets' clocks wrong. The controllers compare their own clock with the times
// that kubelets write.
func skewed(random *rand.Rand) Mishap {
	skew := time.Duration(random.IntN(1200)-600) * time.Second
	return Mishap{Name: fmt.Sprintf("clocks: those of the kubelets jump by %v", skew),
		Begin: func(w *World) func() {
			w.jump(skew)
			return func() { w.jump(0) }
		}}
}

// Answering lets a proxy answer one of some operations in the server's place.
func Answering(random *rand.Rand, ops ...hostile.Op) Mishap {
	fault := hostile.Faults[random.IntN(len(hostile.Faults))]
	for fault.IsStale() { // the controllers couldn't know; see lagging and travelling
		fault = hostile.Faults[random.IntN(len(hostile.Faults))]
	}
	attack := hostile.Attack{
		Fault: fault, On: ops[random.IntN(len(ops))],
		For: time.Duration(random.IntN(4)*15) * time.Second, Carried: random.IntN(2) == 0,
	}
	attack.Carried = attack.Carried && attack.On.IsWrite() && !fault.Spoils()
	name := fmt.Sprintf("wrong answer: a proxy's %s to a %s", fault.Name, attack.On)
	if attack.For > 0 {
		name = fmt.Sprintf("wrong answers: a proxy's %s to each %s for %v", fault.Name, attack.On,
			attack.For)
	}
	if attack.Carried {
		name += ", which the server has carried out"
	}
	var bends []Promise
	// what an API server says with a Status is believed
	if attack.Carried && fault.Refuses() && attack.On != hostile.Status {
		bends = []Promise{NeverMore, NeverFewer, NotTwice}
	}
	var lasts time.Duration
	if fault.Name == "silent" && attack.On == hostile.Watch {
		// It's noticed when the watch should have ended, which may take 10 min and a half. Until then, an update that builds on what
		// was watched is refused, and an item that has failed for so long may pause as long again (5 ms, and then always twice that).
		lasts = 22 * time.Minute
	}
	return Mishap{
		Name: name, Lasts: lasts, losesAnswers: attack.Carried || attack.On.IsWrite() && fault.Spoils(), Bends: bends,
		Begin: func(w *World) func() {
			w.network.Begin(attack)
			return nil
		},
	}
}
