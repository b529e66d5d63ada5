package controller

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// makeNamed makes a controller with the test's name.
func makeNamed(t *testing.T) (Controller, error) {
	t.Helper()
	return NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering()})
}

func TestTheNameOfAControllerIsTakenUntilItHasEnded(t *testing.T) {
	_, err := makeNamed(t)
	require.NoError(t, err)
	_, err = makeNamed(t)
	require.ErrorContains(t, err, "exists: their metrics could not be told apart", "it may still be started")
	freeName(t.Name())
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		_, err := makeNamed(t)
		require.ErrorContains(t, err, "exists: their metrics could not be told apart")
		require.NoError(t, c.end())
		_, err = makeNamed(t)
		require.NoError(t, err)
	})
}
