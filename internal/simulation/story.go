package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/log"
)

// Story is a test that plays a day for each of many seeds, and each day twice: in a calm World and in
// a wild one. The users do the same in both. In the end, users must see the same in both, and on the
// way no promise may be broken.
type Story struct {
	// Name is what `make simulate CONTROLLER=` calls it.
	Name string
	// Seeds is how many seeds to play, Short how many with -short, and Race how many with the race
	// detector, which is slow.
	Seeds, Short, Race uint64
	// Controllers play in a process that crashes and starts again. If it's nil, the Cast plays
	// processes of its own, and Mishaps are all there are.
	Controllers Process
	// SelectsShards gives the server of every other seed the gate ShardedListAndWatch.
	SelectsShards bool
	Steps         int // of a day
	// Long is how long half of the steps last, the others being short. The default is so long that
	// every cache must be up to date then.
	Long time.Duration
	// Rest is how long it takes until everything has come to an end. The default is half an hour.
	Rest time.Duration
	// Mishaps are those that are hardest for these controllers, besides those that may happen to
	// any.
	Mishaps func(random *rand.Rand, often float64) []Mishap
	// Bends are the promises that these controllers don't keep in the face of a mishap, besides those
	// that nobody's controllers keep then. Their documentation has to say so. It may be nil.
	Bends func(Mishap) []Promise
	// Crashes are the writes after which the process may die.
	Crashes []fakeapi.Match
	// Cast makes the users.
	Cast func(*World) Cast
	// Least says how often something must happen in 100 seeds, because a test in which little
	// happens proves little.
	Least map[string]int
}

// Cast are the users of a Story, and its judge. What they do must not depend on what the controllers
// have done, or the two runs can't be compared.
type Cast struct {
	Begin func() // makes what's there before the controllers start
	Act   func() // lets a user do something
	Last  func() // what users do when no more goes wrong; nil is nothing
	// State returns what users see in the end, without names and times.
	State func() string
	// Judge checks what has happened: see promises.go.
	Judge func()
}

// ending is the result of one run.
type ending struct {
	state  string
	broken []Broken
	tale   string
}

// Test plays the Story.
func (s Story) Test(t *testing.T) {
	log.SetLogger(logr.Discard())
	if IsWorker() {
		s.work(t)
		return
	}
	counts, played := map[string]int{}, s.seeds()
	for _, seed := range played {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			calm, wild := s.playTwice(t, seed, nil, counts)
			if broken := verdict(calm, wild); len(broken) > 0 {
				t.Errorf("seed %d:\n%s", seed, list(broken))
			}
			if t.Failed() {
				t.Logf("what has happened:\n%s", taleOf(calm, wild))
			}
		}) {
			t.Logf("its shortest story: make simulate CONTROLLER=%s SEED=%d", s.Name, seed)
			return // one tale is enough
		}
	}
	if uint64(len(played)) < s.Seeds {
		return // too few to compare with Least
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%7d  %s", counts[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(s.Least)) {
		require.GreaterOrEqual(t, counts[what], s.Least[what]*len(played)/100,
			"the test exercises too little: %s", what)
	}
}

func (s Story) seeds() (played []uint64) {
	n := s.Seeds
	if testing.Short() {
		n = min(n, s.Short)
	}
	if race.Enabled {
		n = min(n, s.Race)
	}
	for seed := range n {
		played = append(played, seed)
	}
	return played
}

// playTwice plays one day, and counts what happens in the wild World.
func (s Story) playTwice(
	t *testing.T, seed uint64, parts kept, counts map[string]int,
) (calm, wild ending) {
	synctest.Test(t, func(t *testing.T) {
		calm = s.play(t, seed, parts, nil)
	})
	synctest.Test(t, func(t *testing.T) {
		wild = s.play(t, seed, parts, counts)
	})
	return calm, wild
}

// verdict says what was broken. A promise that is broken even though nothing went wrong comes first. If
// an end is wrong, it says nothing that the other one is different.
func verdict(calm, wild ending) []Broken {
	broken := slices.Concat(calm.broken, wild.broken)
	isWrong := slices.ContainsFunc(broken, func(b Broken) bool {
		return b.Promise == ActedOn || b.Promise == Mended
	})
	if !isWrong && calm.state != wild.state {
		broken = append(broken, Broken{Promise: SameEnd, What: fmt.Sprintf(
			"\n  without mishaps: %s\n  with them:       %s", calm.state, wild.state)})
	}
	return broken
}

func list(broken []Broken) string {
	lines := make([]string, len(broken))
	for i, b := range broken {
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

// taleOf is the tale of the run to blame.
func taleOf(calm, wild ending) string {
	if len(calm.broken) > 0 {
		return calm.tale
	}
	return wild.tale
}

// play plays a day: a calm one if counts is nil.
func (s Story) play(t *testing.T, seed uint64, parts kept, counts map[string]int) ending {
	w := newDirect(t, s.Controllers, s.SelectsShards && seed%2 == 0)
	if w.restFor = 30 * time.Minute; s.Rest > 0 {
		w.restFor = s.Rest
	}
	if counts != nil {
		w.wild, w.counts = true, counts
		w.trace = recording()
	}
	w.Latency()
	if s.Controllers != nil {
		w.tellWrites()
	}
	if w.wild { // a fault of watches hits only new ones, so none may last long
		w.running = []*begun{{last: s.Steps, end: w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{UserAgent: Agent, Verb: "watch"}, CutAfter: 3 * time.Minute,
		})}}
	}
	cast := s.Cast(w)
	w.Users = users(seed, -1)
	cast.Begin()
	if s.Controllers != nil {
		w.Start()
	}
	for n, step := range s.day(seed) {
		w.take(n, step, step.pause == s.long(), parts, func() {
			w.Users = users(seed, n)
			cast.Act()
		})
	}
	w.calm()
	if w.Users = users(seed, s.Steps); cast.Last != nil {
		cast.Last()
	}
	w.rest()
	state := cast.State()
	if s.Controllers != nil {
		w.nothingIsWritten()
	}
	cast.Judge()
	w.End()
	return ending{state, w.broken, w.taleInOrder()}
}

// take takes a step of a day.
func (w *World) take(n int, step step, isLong bool, parts kept, act func()) {
	w.finish(func(b *begun) bool { return b.last < n })
	if w.wild && step.mishap != nil && parts.has(itsMishap, n) {
		w.begin(*step.mishap, n+step.lasts)
	}
	if parts.has(itsUser, n) {
		act()
	}
	if !parts.has(itsTime, n) {
		return
	}
	if isLong {
		// A watch that stayed broken for longer than Memory would make the judge blame the
		// controllers.
		w.finish(func(b *begun) bool { return b.Blinds })
	}
	time.Sleep(step.pause)
}

// rest waits until everything has come to an end. Nothing waits as long for its next try.
func (w *World) rest() {
	time.Sleep(w.restFor)
	synctest.Wait()
}

// nothingIsWritten notes each write of the controllers from now on as a broken promise, because all
// is done.
func (w *World) nothingIsWritten() {
	w.Server.ForgetRequests()
	w.rest()
	for _, request := range w.Writes() {
		w.Breaks(Quiet, time.Now(), "%s, after all was done", request)
	}
}

// onRequest calls what for each request of the controllers with a verb and about a resource.
func (w *World) onRequest(verb, resource string, what func()) {
	w.Server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{UserAgent: Agent, Verb: verb, Resource: resource},
		OnHit: func(fakeapi.Request) { what() },
	})
}

// mostWrites is how many writes of the controllers a day has at most: most have a hundred. Controllers
// that never stop would make the day endless, because each write takes only 10 ms of its time. Those of
// two processes that don't see the same aren't counted: each undoes what the other one writes, until
// one of them ends.
const mostWrites = 3000

// tellWrites tells of each write of the controllers that reaches the server.
func (w *World) tellWrites() {
	writes := 0 // one after the other: the server plans the faults of one request at a time
	for _, verb := range writeVerbs {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{UserAgent: Agent, Verb: verb},
			OnHit: func(r fakeapi.Request) {
				if r.Resource == "events" || writes > mostWrites {
					return
				}
				w.Tell("controllers: %s", r)
				if w.beside.Load() > 0 {
					return
				}
				if writes++; writes > mostWrites {
					w.Breaks(Quiet, time.Now(), "%d writes, and no end", mostWrites)
					w.halt()
				}
			},
		})
	}
}

// Happens plays one day, and counts what happens on it, as for Least.
func (s Story) Happens(t *testing.T, seed uint64) map[string]int {
	counts := map[string]int{}
	s.playTwice(t, seed, nil, counts)
	return counts
}

// Play plays one day twice, and returns the promises that were broken.
func (s Story) Play(t *testing.T, seed uint64) []Broken {
	return verdict(s.playTwice(t, seed, nil, map[string]int{}))
}
