package controller

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestTheNameOfAControllerIsTakenUntilItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Reconciler: new(calls).answering()}
		refused := func(why string) {
			t.Helper()
			_, err := NewUnmanaged(t.Name(), options)
			require.ErrorContains(t, err, "exists: their metrics could not be told apart", why)
		}
		c := prepare(t, options)
		refused("it may still be started")
		c.begin()
		synctest.Wait()
		refused("it runs")
		shared := options
		shared.SkipNameValidation = new(true)
		_, err := NewUnmanaged(t.Name(), shared)
		require.NoError(t, err)
		require.NoError(t, c.end())
		c, _ = start(t, options)
		require.NoError(t, c.end())
	})
}
