package controller

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// makeNamed makes a controller with the test's name.
func makeNamed(t *testing.T) (Controller, error) {
	t.Helper()
	return NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering()})
}

// Each test of a program makes its controllers again, and many tests never start them.
func TestTheNameOfAControllerThatWasDroppedBeforeItsStartIsFree(t *testing.T) {
	for range 3 {
		_, err := makeNamed(t)
		require.NoError(t, err)
	}
}

func TestTheNameOfAControllerThatMayStillBeStartedIsTaken(t *testing.T) {
	first, err := makeNamed(t)
	require.NoError(t, err)
	_, err = makeNamed(t)
	require.ErrorContains(t, err, "exists, and has not been started yet")
	require.ErrorContains(t, err, "drop the other one, with its manager, if it will never start")
	runtime.KeepAlive(first)
}

func TestTheNameOfAControllerThatRunsIsTakenUntilItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		_, err := makeNamed(t)
		require.ErrorContains(t, err, "exists: their metrics could not be told apart")
		require.NoError(t, c.end())
		_, err = makeNamed(t)
		require.NoError(t, err)
	})
}
