package filters

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoWaitsForAnAnswerMayGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers[int, int]()
		release := make(chan struct{})
		question := func(context.Context) (int, time.Duration, error) { <-release; return 7, time.Second, nil }
		for _, who := range []string{"the first, who asks", "another, who waits"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			_, err := a.get(ctx, 1, question)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, who)
			require.Equal(t, time.Second, time.Since(began), who)
		}
		close(release)
		synctest.Wait()
		value, err := a.get(t.Context(), 1, nil)
		require.NoError(t, err)
		require.Equal(t, 7, value, "the question was not asked in vain")
	})
}

// The goroutine of a question is nobody's: net/http does not catch its panic.
func TestAPanicIsAnErrorAndIsNotRemembered(t *testing.T) {
	a := newAnswers[int, int]()
	_, err := a.get(t.Context(), 1, func(context.Context) (int, time.Duration, error) { panic("oh") })
	require.ErrorContains(t, err, "oh")
	require.Empty(t, a.known)
	value, err := a.get(t.Context(), 1, func(context.Context) (int, time.Duration, error) { return 7, time.Second, nil })
	require.NoError(t, err)
	require.Equal(t, 7, value)
}

func TestTheMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers[int, int]()
		for n := range 3 * maxAnswers {
			_, err := a.get(t.Context(), n, func(context.Context) (int, time.Duration, error) { return n, time.Duration(n+1) * time.Second, nil })
			require.NoError(t, err)
			require.LessOrEqual(t, len(a.known), maxAnswers)
		}
		require.NotContains(t, a.known, 2*maxAnswers-1, "who would be forgotten first has gone first")
		require.Contains(t, a.known, 2*maxAnswers)
		time.Sleep(3 * maxAnswers * time.Second)
		_, err := a.get(t.Context(), -1, func(context.Context) (int, time.Duration, error) { return 0, time.Second, nil })
		require.NoError(t, err)
		require.Len(t, a.known, 1)
	})
}

// Anybody can send tokens while the API server hangs, and hang up.
func TestTheQuestionsWithoutAnAnswerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers[int, int]()
		for n := range maxAnswers { // the memory is full, and the last answer is the last to expire
			keep := time.Hour + time.Duration(n)*time.Second
			_, err := a.get(t.Context(), -1-n, func(context.Context) (int, time.Duration, error) { return n, keep, nil })
			require.NoError(t, err)
		}
		release, asked := make(chan struct{}), 0
		gone, leave := context.WithCancel(t.Context())
		leave()
		for n := range 3 * maxQuestions {
			_, err := a.get(gone, n, func(context.Context) (int, time.Duration, error) { <-release; return n, time.Hour, nil })
			if n < maxQuestions {
				require.ErrorIs(t, err, context.Canceled)
				asked++
			} else {
				require.ErrorIs(t, err, errBusy)
			}
			require.LessOrEqual(t, len(a.known), maxAnswers)
		}
		require.Equal(t, maxQuestions, asked)
		_, err := a.get(t.Context(), -maxAnswers, nil)
		require.NoError(t, err, "what is known is still answered")
		close(release)
		synctest.Wait()
		_, err = a.get(t.Context(), -2*maxAnswers, func(context.Context) (int, time.Duration, error) { return 0, time.Hour, nil })
		require.NoError(t, err, "there is room again")
		require.Zero(t, a.asked)
	})
}
