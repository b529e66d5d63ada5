package filters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// guess sends so many tokens that are nobody's, all at once, and returns how often each code was
// the answer, when all have come.
func guess(t *testing.T, h http.Handler, tokens int) (codes func() map[int]int) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex // guards counts
	counts := map[int]int{}
	for n := range tokens {
		all.Go(func() {
			code, _ := ask(t.Context(), h, "GET", "/metrics", fmt.Sprintf("Bearer guess-%d", n))
			mu.Lock()
			defer mu.Unlock()
			counts[code]++
		})
	}
	synctest.Wait()
	return func() map[int]int {
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		return counts
	}
}

// Prometheus would miss a scrape whenever somebody tries tokens.
func TestGuessesCostAKnownCallerNothing(t *testing.T) {
	for name, passed := range map[string]time.Duration{
		"with an answer that's cached": time.Second,
		"whose token expires":          tokenFor + 1,
		"whose permission expires":     allowedFor + 1,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &judge{}
				h := guarded(t, j)
				code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
				require.Equal(t, 200, code)
				time.Sleep(passed)
				j.takes = time.Second
				codes := guess(t, h, 10*maxGuesses)
				began := time.Now()
				code, body := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
				require.Equal(t, 200, code, body)
				require.LessOrEqual(t, time.Since(began), 2*time.Second,
					"it waits for its own two reviews, and for no guess")
				require.Zero(t, codes()[500])
			})
		})
	}
}

func TestGuessesDoNotMakeTheFilterForgetAKnownCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{}
		h := guarded(t, j)
		ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		for n := range 2 * maxKept {
			ask(t.Context(), h, "GET", "/metrics", fmt.Sprintf("Bearer guess-%d", n))
			// and what a user of the cluster tries, who isn't allowed anything
			ask(t.Context(), h, "GET", fmt.Sprintf("/%d", n), "Bearer bob")
		}
		j.take()
		code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		require.Equal(t, 200, code)
		tokens, accesses := j.take()
		require.Zero(t, tokens)
		require.Zero(t, accesses)
	})
}

func TestTooManyGuessesAreToldToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{takes: time.Second}
		h := guarded(t, j)
		codes := guess(t, h, maxGuesses+7)
		w := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
		req.Header.Set("Authorization", "Bearer ann")
		h.ServeHTTP(w, req)
		require.Equal(t, 429, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Contains(t, w.Body.String(), "try again")
		require.Equal(t, map[int]int{401: maxGuesses, 429: 7}, codes())
		code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		require.Equal(t, 200, code, "there is room again")
	})
}

// A Prometheus that has just started must get its first scrape before it loses patience, which it
// does after 10 seconds.
func TestACallersFirstScrapeWaitsForAFewGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{takes: time.Second}
		h := guarded(t, j)
		codes := guess(t, h, maxGuesses-1)
		began := time.Now()
		code, body := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		require.Equal(t, 200, code, body)
		require.LessOrEqual(t, time.Since(began), 5*time.Second,
			"four rounds of reviews, and one for its permission")
		require.Equal(t, map[int]int{401: maxGuesses - 1}, codes())
	})
}

// The client of the manager is allowed 20 requests a second, and a rest.Config that says nothing 5.
func TestReviewsDoNotWaitForTheClientsRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := guarded(t, &judge{})
		began := time.Now()
		for n := range 200 {
			ask(t.Context(), h, "GET", "/metrics", fmt.Sprintf("Bearer guess-%d", n))
		}
		code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		require.Equal(t, 200, code)
		require.Zero(t, time.Since(began))
	})
}

// Few reviews run at a time, so that guesses are no way to keep the API server busy.
func TestGuessesReachTheServerFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{takes: time.Second}
		codes := guess(t, guarded(t, j), maxGuesses)
		tokens, _ := j.take()
		require.Equal(t, maxReviews, tokens)
		codes()
	})
}
