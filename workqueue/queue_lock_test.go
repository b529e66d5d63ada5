package workqueue

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that is free again after a moment must not cost a sleep. If it does, workers that
// come at the same time put each other to sleep, and the queue is three times as slow.
func TestALockThatIsSoonFreePutsNobodyToSleep(t *testing.T) {
	mu := &New(Options[int]{}).mu
	for free := 1; free <= lockTries; free++ {
		mu.Lock()
		pauses := 0
		got := mu.spin(func() {
			if pauses++; pauses == free {
				mu.Unlock()
			}
		})
		require.True(t, got, "the lock was free in pause %d, and the caller sleeps", free)
		require.Equal(t, free, pauses, "the lock was free in pause %d, and the caller waits on", free)
		require.False(t, mu.TryLock(), "free in pause %d: the caller believes that it has the lock, and others can take it", free)
		mu.Unlock()
	}
}

// The holder may have lost its processor. Whoever spins until it comes back only
// keeps the processor from it.
func TestALockThatIsNotSoonFreeEndsTheSpinning(t *testing.T) {
	mu := &New(Options[int]{}).mu
	mu.Lock()
	pauses := 0
	require.False(t, mu.spin(func() { pauses++ }), "the lock is taken, and the caller believes that it has it")
	require.Equal(t, lockTries, pauses)
	mu.Unlock()
}

// Whether a goroutine got the lock at once, by spinning or after a sleep, it is alone.
func TestOnlyOneHasTheLock(t *testing.T) {
	var (
		mu    spinMutex
		all   sync.WaitGroup
		count int
	)
	const goroutines, each = 8, 200
	for range goroutines {
		all.Go(func() {
			for i := range each {
				mu.Lock()
				was := count
				for range i % 4 * 20 { // the longer times outlast the tries
					pause()
				}
				count = was + 1
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, goroutines*each, count, "two held the lock at once, and one overwrote what the other had written")
}
