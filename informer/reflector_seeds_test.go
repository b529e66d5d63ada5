package informer

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
)

var reflectorSeed = flag.Uint64("reflector.seed", 0,
	"replay this seed of TestAReflectorSurvivesWhateverTheServerDoes")

// A server cuts, delays, hangs, forgets, lags, refuses and lies about what it can
// do, for hundreds of seeds. In the end the view must equal the server's, and at
// no time may the sink have been told something illegal.
func TestAReflectorSurvivesWhateverTheServerDoes(t *testing.T) {
	if *reflectorSeed != 0 {
		survive(t, *reflectorSeed, map[string]int{})
		return
	}
	happened := map[string]int{} // how many seeds led to it
	seeds := race.Fewer(uint64(200))
	if testing.Short() {
		seeds = 60
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { survive(t, seed, happened) }) {
			t.Fatalf("replay with: go test ./informer -run TestAReflectorSurvives -reflector.seed %d -v",
				seed)
		}
	}
	for _, trouble := range troubles {
		require.Positive(t, happened[trouble], "no seed led to %q: %v", trouble, happened)
	}
}

// troubles are what the seeds must have led to, as the flight recorder names it.
// A test in which the server is nearly always well proves nothing.
var troubles = []string{
	"expired", "backoff", "the server refuses WatchList", "a bookmark that ends nothing",
	"the stream stalled",
	"the stream ended before", "older than what was seen", "soon after it began", "EOF",
	"too many requests", "may not",
}

func survive(t *testing.T, seed uint64, happened map[string]int) {
	random := rand.New(rand.NewPCG(seed, 3))
	options := fakeapi.Options{Seed: seed, BookmarkInterval: 5 * time.Second, History: 40,
		NoManagedFields: true}
	inMemory(t, options, func(t *testing.T, server *fakeapi.Server, w world) {
		// the writer reads, too: only lists and watches are hit
		harmless := newWorld(t, server.Config(), metav1.NamespaceDefault)
		lift := injectAll(server, random, seed)
		r := runReflector(t, w, ReflectorOptions{
			NoStream: random.IntN(4) == 0, PageSize: int64(1 + random.IntN(6)),
			RequestTimeout: 20 * time.Second,
			StreamTimeout:  10 * time.Second, WatchTimeout: 30 * time.Second, Random: random01(seed),
		})
		want := writeAtRandom(t, harmless, server, random, r)
		for _, remove := range lift {
			remove()
		}
		time.Sleep(5 * time.Minute) // until the reflector has caught up

		require.Equal(t, want, r.view.values(), "the view must equal what the server has\n%s", r.told())
		require.Equal(t, StateWatching, r.Health().State)
		require.NoError(t, r.stop())
		r.legal(t)
		for _, trouble := range troubles {
			if strings.Contains(r.told(), trouble) {
				happened[trouble]++
			}
		}
	})
}

func random01(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 4)).Float64 }

// injectAll arms every fault there is. Which of them hit, the seed decides.
func injectAll(server *fakeapi.Server, random *rand.Rand, seed uint64) (lift []func()) {
	times := 0
	inject := func(match fakeapi.Match, fault fakeapi.Fault) {
		fault.Match, fault.Seed = match, seed*100+uint64(times)
		fault.Probability = 0.02 + 0.25*random.Float64()
		times++
		if random.IntN(3) > 0 { // not all of them in every run
			lift = append(lift, server.Inject(fault))
		}
	}
	for _, match := range []fakeapi.Match{configMapLists, configMapWatches} {
		inject(match, fakeapi.Fault{Status: fakeapi.TooManyRequests(2)})
		inject(match, fakeapi.Fault{Status: fakeapi.InternalError()})
		inject(match, fakeapi.Fault{Status: fakeapi.Unavailable()})
		inject(match, fakeapi.Fault{Status: fakeapi.Expired()})
		inject(match, fakeapi.Fault{Status: fakeapi.Timeout()})
		inject(match, fakeapi.Fault{Status: fakeapi.Forbidden()})
		inject(match, fakeapi.Fault{Refuse: true})
		inject(match, fakeapi.Fault{Hang: true})
		inject(match, fakeapi.Fault{LoseResponse: true})
		inject(match, fakeapi.Fault{Delay: 700 * time.Millisecond})
	}
	// A real server never serves the newest there is stale. More than this and
	// the reflector believes that a backup was restored.
	inject(configMapLists, fakeapi.Fault{Stale: 10, Times: tries - 1})
	inject(configMapWatches, fakeapi.Fault{CutAfterEvents: 1 + random.IntN(9)})
	inject(configMapWatches, fakeapi.Fault{CutAfterEvents: 1 + random.IntN(9), CutAbruptly: true})
	inject(configMapWatches, fakeapi.Fault{CutAfter: time.Duration(random.IntN(8000)) * time.Millisecond, CutAbruptly: random.IntN(2) == 0})
	inject(configMapWatches, fakeapi.Fault{DelayEvents: 300 * time.Millisecond})
	inject(configMapWatches, fakeapi.Fault{NoWatchList: true})
	inject(configMapWatches, fakeapi.Fault{IgnoreWatchList: true})
	inject(configMapWatches, fakeapi.Fault{NoInitialEventsEnd: true})
	return lift
}

// writeAtRandom changes ten objects for some minutes, lets the server forget now
// and then, and stops and starts the reflector.
func writeAtRandom(
	t *testing.T, w world, server *fakeapi.Server, random *rand.Rand, r *reflecting,
) map[string]string {
	t.Helper()
	want := map[string]string{}
	for step := range 150 {
		w.writeAtRandom(t, random, 3, step, want)
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
		if random.IntN(40) == 0 {
			server.CompactAll()
		}
		if random.IntN(60) == 0 {
			require.NoError(t, r.stop())
			r.start(t)
		}
	}
	return want
}

// A watch that loses events breaks a promise, and no client can notice. The next
// list must put it right.
func TestARelistPutsRightWhatAWatchLost(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, server *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		server.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, DropEvents: 1,
			CutAfter: 70 * time.Second})
		r := runReflector(t, w, ReflectorOptions{NoStream: true})
		r.view.untilIsThere(t, "apple")
		w.create(t, "lost", nil)
		// a bookmark has moved the cursor past the loss, and the next watch is without fault
		time.Sleep(2 * time.Minute)
		r.view.untilIsThere(t, "apple")
		require.NoError(t, r.stop())
		r.start(t)
		r.view.untilIsThere(t, "apple", "lost")
	})
}
