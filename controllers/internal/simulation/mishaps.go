package simulation

import (
	"math/rand/v2"
	"testing/synctest"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Mishap is something that goes wrong with the requests of the controllers.
type Mishap struct {
	Name  string
	Fault fakeapi.Fault
}

// Disturb injects a fault, or removes one, or makes the process crash. In a calm World, it does
// nothing.
func (w *World) Disturb() {
	if !w.wild {
		return
	}
	switch w.Faults.IntN(10) {
	case 0, 1, 2, 3, 4:
		often := []float64{0.1, 0.3, 0.6}[w.Faults.IntN(3)]
		all := append(general(w.Faults, often), w.story.Mishaps(w.Faults, often)...)
		w.inject(all[w.Faults.IntN(len(all))])
	case 5:
		if len(w.lifts) > 0 {
			w.Tell("the first fault is over")
			w.lifts[0]()
			w.lifts = w.lifts[1:]
		}
	case 6:
		synctest.Wait() // until all watches have sent their events
		w.Tell("the server forgets its history")
		w.Count("compacted")
		w.Server.CompactAll()
	default:
		crashes := w.story.Crashes
		w.CrashAfter(crashes[w.Faults.IntN(len(crashes))], w.Faults.IntN(3))
	}
}

func (w *World) inject(m Mishap) {
	m.Fault.Seed, m.Fault.Match.UserAgent = w.Faults.Uint64(), Agent
	m.Fault.OnHit = func(fakeapi.Request) { w.Count("fault: " + m.Name) }
	w.Tell("from now on: %s", m.Name)
	lift := w.Server.Inject(m.Fault)
	w.lifts = append(w.lifts, lift)
	if verb := m.Fault.Match.Verb; verb == "" || verb == "list" ||
		m.Fault.Status != nil && verb == "watch" {
		w.blinds = append(w.blinds, lift)
	}
}

// general are mishaps that may happen to any request.
func general(random *rand.Rand, often float64) []Mishap {
	watch := fakeapi.Match{Verb: "watch"}
	read := fakeapi.Match{Verb: []string{"list", "watch"}[random.IntN(2)]}
	return []Mishap{
		{"refused", fakeapi.Fault{Probability: often, Refuse: true}},
		{"answer lost", fakeapi.Fault{Probability: often, LoseResponse: true}},
		{"conflict", fakeapi.Fault{
			Match: fakeapi.Match{Verb: "patch"}, Probability: often, Status: fakeapi.Conflict(),
		}},
		{"expired", fakeapi.Fault{Match: read, Probability: often, Status: fakeapi.Expired()}},
		{"too many requests", fakeapi.Fault{
			Probability: often, Status: fakeapi.TooManyRequests(int32(random.IntN(3))),
		}},
		{"unavailable", fakeapi.Fault{Probability: often, Status: fakeapi.Unavailable()}},
		{"slow", fakeapi.Fault{
			Probability: often, Delay: time.Duration(random.IntN(3000)) * time.Millisecond,
		}},
		{"watch cut", fakeapi.Fault{
			Match: watch, CutAfterEvents: 1 + random.IntN(4), CutAbruptly: random.IntN(2) == 0,
		}},
		{"watch cut in time", fakeapi.Fault{
			Match: watch, CutAfter: time.Duration(10+random.IntN(50)) * time.Second,
		}},
		{"watch late", fakeapi.Fault{
			Match: watch, DelayEvents: time.Duration(random.IntN(2000)) * time.Millisecond,
		}},
		{"no WatchList", fakeapi.Fault{Match: watch, NoWatchList: true}},
		{"no end of the initial events", fakeapi.Fault{Match: watch, NoInitialEventsEnd: true}},
	}
}

// watchesWork removes the faults that may stop the controllers from watching.
func (w *World) watchesWork() {
	w.Tell("the watches work")
	for _, lift := range w.blinds {
		lift()
	}
	w.blinds = nil
}

// Calm removes all faults.
func (w *World) Calm() {
	w.Tell("no more faults")
	for _, lift := range w.lifts {
		lift()
	}
	w.lifts = nil
}
