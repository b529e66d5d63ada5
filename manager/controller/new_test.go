package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// ward is a manager that keeps what it is given.
type ward struct {
	settings config.Controller
	refuses  error
	added    []interface{ Start(context.Context) error }
}

func (w *ward) Add(r interface{ Start(context.Context) error }) error {
	w.added = append(w.added, r)
	return w.refuses
}

func (w *ward) GetControllerOptions() config.Controller { return w.settings }

func TestANewControllerIsAddedToTheManagerAndHasItsSettings(t *testing.T) {
	w := &ward{settings: config.Controller{MaxConcurrentReconciles: 7, NeedLeaderElection: new(false)}}
	c, err := New(t.Name(), w, Options{Reconciler: new(calls).answering()})
	require.NoError(t, err)
	defer freeName(t.Name())
	require.Len(t, w.added, 1)
	require.Same(t, c, w.added[0])
	loop := c.(*controlLoop[reconcile.Request])
	require.Equal(t, 7, loop.options.MaxConcurrentReconciles)
	require.False(t, loop.NeedLeaderElection())
	require.Equal(t, "controller "+t.Name(), fmt.Sprint(c), "the manager's messages name it")

	_, err = New(t.Name(), w, Options{Reconciler: new(calls).answering()})
	require.ErrorContains(t, err, "exists")
}

// Whoever runs a program has the last word, and must not break what the program needs.
func TestWhatTheManagerOverridesCountsMoreThanTheOptionsAndTheSettings(t *testing.T) {
	w := &ward{settings: config.Controller{MaxConcurrentReconciles: 7, Override: func(name string) config.Override {
		require.Equal(t, t.Name(), name)
		return config.Override{Workers: new(3), MaxRetries: new(5)}
	}}}
	c, err := New(t.Name(), w, Options{Reconciler: new(calls).answering(), MaxConcurrentReconciles: 2, GracePeriod: time.Hour})
	require.NoError(t, err)
	defer freeName(t.Name())
	loop := c.(*controlLoop[reconcile.Request])
	require.Equal(t, []int{3, 5}, []int{loop.options.MaxConcurrentReconciles, loop.options.MaxRetries})
	require.Equal(t, time.Hour, loop.options.GracePeriod)
}

func TestTheNameOfAControllerThatTheManagerRefusesIsFree(t *testing.T) {
	refusal := errors.New("too late")
	_, err := New(t.Name(), &ward{refuses: refusal}, Options{Reconciler: new(calls).answering()})
	require.ErrorIs(t, err, refusal)
	c, err := New(t.Name(), &ward{}, Options{Reconciler: new(calls).answering()})
	require.NoError(t, err)
	defer freeName(t.Name())

	_, err = New(t.Name(), &ward{refuses: refusal}, Options{Reconciler: new(calls).answering(), SkipNameValidation: new(true)})
	require.ErrorIs(t, err, refusal)
	_, err = NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering()})
	require.ErrorContains(t, err, "exists", "the name is that of %v still", c)
}

func TestANewControllerNeedsAManagerAndAReconciler(t *testing.T) {
	_, err := New("a", nil, Options{Reconciler: new(calls).answering()})
	require.ErrorContains(t, err, "New needs a manager")
	w := &ward{}
	_, err = New("a", w, Options{})
	require.ErrorContains(t, err, "needs a Reconciler")
	require.Empty(t, w.added, "a manager that gets nothing would fail when it starts")
}

// Its Start does not wait for the lead. A Warmup next to it would end the sources before their time.
func TestAControllerThatDoesNotWaitForTheLeadHasNoWarmup(t *testing.T) {
	c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true), NeedLeaderElection: new(false)})
	require.NoError(t, c.Warmup(t.Context()))
	require.Nil(t, c.opened)
	freeName(t.Name())
}
