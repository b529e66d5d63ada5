package leaderelection

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
)

// everything that can go wrong, goes wrong.
var everything = worldFaults{
	rates: 0.04, stop: 2 * time.Second, lose: 0.1, slow: 0.05, twice: 0.05,
	cuts: true, pauses: true, deletes: true, ends: true, calm: 10 * time.Minute,
}

// The world has one goroutine, so the race detector finds nothing in more of them.
func seeds(t *testing.T) uint64 {
	if testing.Short() || race.Enabled {
		return 100
	}
	return 500
}

// Two replicas that work at the same time do everything twice, or undo each other's work.
func TestTwoReplicasNeverLeadAtTheSameTime(t *testing.T) {
	terms, refused := 0, 0
	for seed := range seeds(t) {
		w := newWorld(seed, 2+int(seed%2), everything)
		w.run(everything.calm)
		require.Empty(t, w.problems, "seed %d:\n%s", seed, strings.Join(w.problems, "\n"))
		terms, refused = terms+w.terms, refused+w.refused
	}
	require.Greater(t, terms, 5*int(seeds(t)), "so few terms prove nothing")
	require.Greater(t, refused, 10, "no leader woke up too late, so the tokens were not tested")
}

// A token that is not higher than the last one is refused by the stores that check it: then nobody
// can write any more.
func TestEveryLeaderHasAHigherTokenThanTheOneBefore(t *testing.T) {
	faults := everything
	faults.deletes = false
	for seed := range seeds(t) {
		w := newWorld(seed, 3, faults)
		w.run(faults.calm)
		require.Empty(t, w.problems, "seed %d:\n%s", seed, strings.Join(w.problems, "\n"))
	}
}

// A cluster without a leader stands still.
func TestSomebodyLeadsSoonAfterTheTroubleIsOver(t *testing.T) {
	for seed := range seeds(t) {
		w := newWorld(seed, 2+int(seed%2), everything)
		// The longest pause and the longest way of a request, a lock that was deleted at the last
		// moment, and the time to take it.
		w.run(everything.calm + 40*time.Second + 20*time.Second + 3*worldTiming.lease)
		terms := w.terms
		require.Equal(t, 1, w.working(), "seed %d: nobody leads", seed)
		w.run(everything.calm + 10*time.Minute)
		require.Equal(t, 1, w.working(), "seed %d", seed)
		require.Equal(t, terms, w.terms, "seed %d: leaders change without a reason", seed)
		require.Empty(t, w.problems, "seed %d:\n%s", seed, strings.Join(w.problems, "\n"))
	}
}

// Clocks that show different times are no problem, and the promise says how different their speeds
// may be. Beyond that it does not hold, and no elector that looks at local clocks can keep it. This
// also shows that the world finds two leaders if there are two.
func TestClocksThatRunAtVeryDifferentSpeedsBreakThePromise(t *testing.T) {
	faults := worldFaults{rates: 0.6, stop: 2 * time.Second, cuts: true, calm: 10 * time.Minute}
	found := 0
	for seed := range uint64(100) {
		w := newWorld(seed, 2, faults)
		w.run(faults.calm)
		found += len(w.problems)
	}
	require.Positive(t, found)
}
