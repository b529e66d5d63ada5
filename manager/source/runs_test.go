package source

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

var errOver = errors.New("it is over")

// begun is a source with one start, and the end of its context.
func begun(t *testing.T) (r *runs, over *run, end context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(t.Context())
	r = &runs{}
	return r, r.begin(ctx), end
}

// A controller would take the answer nil for a source that is ready, and start its workers.
func TestASourceThatWasStoppedIsNotReady(t *testing.T) {
	for range 50 { // there is more than one reason to return, and Go takes any
		r, over, end := begun(t)
		over.waitsFor(func(end error) error { return errors.Join(errors.New("nothing is listed"), end) })
		end(errOver)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errOver)
		err := r.waitForSync(ctx)
		require.ErrorIs(t, err, errOver)
		require.ErrorContains(t, err, "nothing is listed")
	}
}

func TestTheEndOfAnothersStartIsNoReasonToWait(t *testing.T) {
	r, over, end := begun(t)
	end(errOver)
	require.NoError(t, r.waitForSync(t.Context()))
	r.end(over)
	require.NoError(t, r.waitForSync(t.Context()))
	r.WaitForStop()
}

func TestOnlyTheFirstAnswerCounts(t *testing.T) {
	r, run, end := begun(t)
	defer end(errOver)
	run.settle(errBroken)
	run.settle(nil)
	require.ErrorIs(t, r.waitForSync(t.Context()), errBroken)
	other, ready, end := begun(t)
	defer end(errOver)
	ready.settle(nil)
	ready.settle(errBroken)
	require.NoError(t, other.waitForSync(t.Context()))
}

var errBroken = errors.New("it is broken")

func TestASourceThatCannotSayWhyItIsNotReadySaysWhatEndedTheWait(t *testing.T) {
	r, _, end := begun(t)
	defer end(errOver)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	require.Equal(t, errBroken, r.waitForSync(ctx))
}
