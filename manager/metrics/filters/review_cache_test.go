package filters

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func positive(n int) bool { return n > 0 }

func TestARequestThatWaitsForAReviewMayGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReviewCache(positive)
		release := make(chan struct{})
		ask := func(context.Context) (int, time.Duration, error) {
			<-release
			return 7, time.Second, nil
		}
		for _, who := range []string{"the first, which asks", "another, which waits"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			_, err := c.get(ctx, "a", ask)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, who)
			require.Equal(t, time.Second, time.Since(began), who)
		}
		close(release)
		synctest.Wait()
		answer, err := c.get(t.Context(), "a", nil)
		require.NoError(t, err)
		require.Equal(t, 7, answer, "the review was not made in vain")
	})
}

// net/http does not see the goroutine of a review, and so cannot catch its panic.
func TestAPanicIsAnErrorAndIsNotKept(t *testing.T) {
	c := newReviewCache(positive)
	_, err := c.get(t.Context(), "a", func(context.Context) (int, time.Duration, error) {
		panic("oh")
	})
	require.ErrorContains(t, err, "oh")
	require.Empty(t, c.accepted.Keys())
	require.Empty(t, c.refused.Keys())
	answer, err := c.get(t.Context(), "a", func(context.Context) (int, time.Duration, error) {
		return 7, time.Second, nil
	})
	require.NoError(t, err)
	require.Equal(t, 7, answer)
}

func TestTheMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReviewCache(positive)
		for n := range 6 * maxKept {
			_, err := c.get(t.Context(), strconv.Itoa(n),
				func(context.Context) (int, time.Duration, error) {
					return n % 2, time.Minute, nil // one is accepted, and the next refused
				})
			require.NoError(t, err)
			require.LessOrEqual(t, len(c.accepted.Keys()), maxKept)
			require.LessOrEqual(t, len(c.refused.Keys()), maxKept)
		}
		time.Sleep(2 * time.Minute)
		for n := 6*maxKept - 2; n < 6*maxKept; n++ {
			asked := false
			_, err := c.get(t.Context(), strconv.Itoa(n),
				func(context.Context) (int, time.Duration, error) {
					asked = true
					return 0, time.Second, nil
				})
			require.NoError(t, err)
			require.True(t, asked, "an answer is believed for as long as it said, and no longer")
		}
	})
}

// Anybody can send tokens while the API server hangs, and hang up.
func TestTheReviewsUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReviewCache(positive)
		_, err := c.get(t.Context(), "known", func(context.Context) (int, time.Duration, error) {
			return 1, time.Hour, nil
		})
		require.NoError(t, err)
		release := make(chan struct{})
		asked := make(chan int, 2*maxGuesses)
		for n := range maxGuesses {
			gone, leave := context.WithCancel(t.Context())
			go func() {
				_, err := c.get(gone, strconv.Itoa(n),
					func(context.Context) (int, time.Duration, error) {
						asked <- n
						<-release
						return n, time.Hour, nil
					})
				require.ErrorIs(t, err, context.Canceled)
			}()
			synctest.Wait()
			leave()
			synctest.Wait()
		}
		require.Len(t, asked, maxReviews)
		_, err = c.get(t.Context(), "one more", nil)
		require.ErrorIs(t, err, errBusy)
		time.Sleep(time.Minute)
		answer, err := c.get(t.Context(), "known", nil)
		require.NoError(t, err, "what is known is still answered")
		require.Equal(t, 1, answer)
		close(release)
		synctest.Wait()
		_, err = c.get(t.Context(), "one more", func(context.Context) (int, time.Duration, error) {
			return 0, time.Hour, nil
		})
		require.NoError(t, err, "there is room again")
	})
}
