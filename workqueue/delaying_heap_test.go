package workqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// delayBench is delays on the test bench: keys are strings or bytes.
type delayBench[T comparable] struct{ delays[T] }

func (b *delayBench[T]) want(item T, at time.Duration, w addRequest) delayOutcome {
	_, outcome := b.add(item, "", at, w)
	return outcome
}

// cancel removes an item's alarm, if it has one.
func (b *delayBench[T]) cancel(item T) bool { return b.remove(item) != nil }

// A token bucket that never fills has a delay of 292 years. Added to a moment, it
// must not become one of the past.
func TestDelaysDoNotOverflow(t *testing.T) {
	require.Equal(t, time.Duration(math.MaxInt64), later(time.Hour, math.MaxInt64), "a moment too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64), later(2, math.MaxInt64-1), "a moment that is just too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64-1), later(2, math.MaxInt64-3), "a moment far away that can be counted is exact")
	require.Equal(t, 2*time.Hour, later(time.Hour, time.Hour), "a moment is the one before it, plus a while")
}
