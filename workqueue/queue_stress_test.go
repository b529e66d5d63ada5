package workqueue

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// underStress is what the queue of each chapter must be able to do.
type underStress interface {
	Add(item int)
	Get() (item int, shutdown bool)
	Done(item int)
	ShutDownWithDrain()
	Len() int
}

// seeds is how many random runs a stress test makes.
func seeds() uint64 {
	if testing.Short() {
		return 200
	}
	return 3000
}

// stress has producers add and workers work, all at once, then drains, and
// checks the three promises: no item lost, none handed out twice at once, none
// left behind. add puts an item in by one of the queue's ways; settle waits until
// what was added is in the queue. x counts how much of it happened at once.
func stress(t *testing.T, seed uint64, q underStress, x exercised, add func(random *rand.Rand, item int), settle func()) {
	const keys = 7
	var changed, seen, holders [keys]atomic.Int64
	var adds, works, overtaken, working, together atomic.Int64
	var producers, workers sync.WaitGroup
	random := rand.New(rand.NewPCG(seed, 0))
	for range 1 + random.IntN(4) {
		own := rand.New(rand.NewPCG(seed, random.Uint64()))
		producers.Go(func() {
			for range 30 {
				key := own.IntN(keys)
				adds.Add(1)
				changed[key].Add(1) // the object changes, and then its key is added
				add(own, key)
				if own.IntN(2) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range 1 + random.IntN(6) {
		workers.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				if n := holders[key].Add(1); n != 1 {
					t.Errorf("seed %d: %d workers hold item %d at once", seed, n, key)
				}
				works.Add(1)
				if working.Add(1) > 1 {
					together.Add(1)
				}
				seen[key].Store(changed[key].Load())
				runtime.Gosched()
				if seen[key].Load() != changed[key].Load() {
					overtaken.Add(1)
				}
				working.Add(-1)
				holders[key].Add(-1)
				q.Done(key)
			}
		})
	}
	producers.Wait()
	settle()
	for key := range keys {
		adds.Add(1)
		changed[key].Add(1)
		q.Add(key)
	}
	left := q.Len()
	q.ShutDownWithDrain()
	require.Zero(t, q.Len(), "seed %d: items are left after the drain", seed)
	for key := range keys {
		require.Zero(t, holders[key].Load(), "seed %d: the drain ended while a worker held item %d", seed, key)
		require.Equal(t, changed[key].Load(), seen[key].Load(), "seed %d: the last change of item %d was lost", seed, key)
	}
	workers.Wait()
	x["adds that were merged"] += int(adds.Load() - works.Load())
	x["items that changed while a worker held them"] += int(overtaken.Load())
	x["items that a worker took while another one worked"] += int(together.Load())
	x.count("runs in which items wait when the drain begins", left > 0)
}

// stressed is how much of it has to happen in this many runs.
func stressed(runs uint64, more exercised) exercised {
	n := int(runs)
	atLeast := exercised{
		"adds that were merged":                             10 * n,
		"items that changed while a worker held them":       n,
		"items that a worker took while another one worked": 2 * n,
		"runs in which items wait when the drain begins":    n / 2,
	}
	maps.Copy(atLeast, more)
	return atLeast
}

// returnTo waits until there are no more goroutines than before: one that has
// nothing left to do needs a moment to end.
func returnTo(t *testing.T, before int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines are left, and there were %d before", runtime.NumGoroutine(), before)
}

func TestNothingIsLostHeldTwiceOrLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	seen := exercised{}
	for seed := range seeds() {
		q := New(Options[int]{})
		stress(t, seed, q, seen, func(_ *rand.Rand, item int) { q.Add(item) }, func() {})
	}
	returnTo(t, before)
	seen.require(t, stressed(seeds(), nil))
}
