package devca

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Somebody who waits for Renew goes on to throw the old CA away. Then all must know the new one.
func TestARenewalThatWasAskedForIsOverWhenAllKnowTheNewCA(t *testing.T) {
	inWorld(t, all, func(w *world) {
		for _, target := range w.ca.targets {
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
		}
		synctest.Wait()
		before := string(w.ca.Bundle())
		began := time.Now()
		require.NoError(w, w.ca.Renew(w.Context()))
		require.GreaterOrEqual(w, time.Since(began), settling, "the API server had no time to learn about the new CA")
		require.Less(w, time.Since(began), settling+again)
		require.NoError(w, w.trusts(string(w.ca.Bundle())))
		require.Error(w, w.trusts(before), "the old CA still signs")
		require.NoError(w, w.ca.Announced())
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"), "one request, one renewal")
	})
}

func TestTwoWhoAskForARenewalAtOnceGetOne(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		renewed := make(chan error, 2)
		for range 2 {
			go func() { renewed <- w.ca.Renew(w.Context()) }()
		}
		require.NoError(w, <-renewed)
		require.NoError(w, <-renewed)
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
	})
}

// The second one comes when the next CA is there, and is not used yet.
func TestARenewalThatIsUnderWayIsTheOneThatOthersWaitFor(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		renewed := make(chan error, 2)
		for range 2 {
			go func() { renewed <- w.ca.Renew(w.Context()) }()
			time.Sleep(settling / 2)
		}
		require.NoError(w, <-renewed)
		require.NoError(w, <-renewed)
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
	})
}

func TestARenewalThatCannotBeAnnouncedSaysWhy(t *testing.T) {
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"missing"}}, func(w *world) {
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		err := w.ca.Renew(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "ValidatingWebhookConfiguration missing")
	})
}

func TestARenewalIsDueWhenSomebodyAsks(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	young := generation{signer: authority{from: start, until: start.Add(30 * time.Hour)}, serving: certificate{from: start, until: start.Add(3 * time.Hour)}}
	now := start.Add(time.Hour)
	young.asked = now
	what, _ := young.due(now)
	require.Equal(t, makeNext, what)
	old := young
	old.asked = start.Add(25 * time.Hour)
	old.serving.until = start.Add(100 * time.Hour)
	what, at := old.due(start.Add(20 * time.Hour))
	require.Equal(t, makeNext, what, "whoever asks late must not put off the renewal")
	require.Equal(t, start.Add(20*time.Hour), at)
}
