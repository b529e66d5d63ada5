package simulation

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/race"
	"github.com/loopwright/loopwright/manager/log"
)

var (
	oneSeed = flag.Int64("simulation.seed", -1, "play only this seed of a Story")
	seeds   = flag.Uint64("simulation.seeds", 0,
		"how many seeds of a Story to play; if 0, what the Story says")
)

// Story is a test that runs with many seeds, and with each of them twice: in a calm World and in a
// wild one. The users do the same in both. In the end, users must see the same in both, and on the
// way no promise may be broken.
type Story struct {
	// Package is the package in the command that plays a seed again.
	Package string
	// Seeds is how many seeds to play, Short how many with -short, and Race how many with the race
	// detector, which is slow.
	Seeds, Short, Race uint64
	Controllers        Add
	// Mishaps are those that are hardest for these controllers, besides those that may happen to
	// any request.
	Mishaps func(random *rand.Rand, often float64) []Mishap
	// Crashes are the writes after which the process may die.
	Crashes []fakeapi.Match
	// Play runs the users, and returns what they see in the end, without names and times.
	Play func(*World) string
	// Least says how often something must happen in 100 seeds, because a test in which little
	// happens proves little.
	Least map[string]int
}

// ending is the result of one run.
type ending struct {
	state  string
	broken []string // promises
	tale   string
}

// Test plays the Story.
func (s Story) Test(t *testing.T) {
	log.SetLogger(logr.Discard())
	counts, played := map[string]int{}, s.seeds()
	for _, seed := range played {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s.playTwice(t, seed, counts)
		}) {
			// The seed doesn't fix the order of goroutines, so it may take more than one try.
			t.Logf("again: go test -count=20 -run %s %s -simulation.seed=%d", t.Name(), s.Package,
				seed)
			return // one tale is enough
		}
	}
	if len(played) < 15 {
		return // too few seeds to compare with Least
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
	switch {
	case *oneSeed >= 0:
		return []uint64{uint64(*oneSeed)}
	case *seeds > 0:
		n = *seeds
	}
	for seed := range n {
		played = append(played, seed)
	}
	return played
}

// playTwice plays one seed, and counts what happens in the wild World.
func (s Story) playTwice(t *testing.T, seed uint64, counts map[string]int) {
	var calm, wild ending
	synctest.Test(t, func(t *testing.T) { calm = s.play(t, seed, false, map[string]int{}) })
	synctest.Test(t, func(t *testing.T) { wild = s.play(t, seed, true, counts) })
	if len(calm.broken) > 0 {
		t.Logf("what has happened, though nothing went wrong:\n%s", calm.tale)
	} else if t.Failed() || calm.state != wild.state || len(wild.broken) > 0 {
		t.Logf("what has happened:\n%s", wild.tale)
	}
	require.Equal(t, calm.state, wild.state, "seed %d: the end", seed)
	require.Empty(t, calm.broken, "seed %d, in which nothing goes wrong", seed)
	require.Empty(t, wild.broken, "seed %d", seed)
}

func (s Story) play(t *testing.T, seed uint64, wild bool, counts map[string]int) ending {
	w := New(t, s.Controllers)
	w.story, w.wild, w.counts = &s, wild, counts
	w.Users, w.Faults = rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	w.Latency()
	if wild { // a fault of watches hits only new ones, so this comes first
		w.lifts = append(w.lifts, w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{UserAgent: Agent, Verb: "watch"}, CutAfter: 3 * time.Minute,
		}))
	}
	state := s.Play(w)
	w.End()
	return ending{state, w.broken, w.taleInOrder()}
}

// Pause waits up to four seconds, or so long that every cache must be up to date.
func (w *World) Pause() {
	if w.Users.IntN(2) == 0 {
		time.Sleep(time.Duration(w.Users.IntN(4000)) * time.Millisecond)
		return
	}
	// A watch that stayed broken for longer than Memory would make the judge blame the controllers.
	w.watchesWork()
	time.Sleep(2 * Memory)
}

// Rest waits until everything has come to an end.
func (w *World) Rest() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// NothingIsWritten notes each write of the controllers from now on as a broken promise, because all
// is done.
func (w *World) NothingIsWritten() {
	w.Server.ForgetRequests()
	w.Rest()
	for _, request := range w.Writes() {
		w.Breaks(time.Now(), "%s, after all was done", request)
	}
}
