package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

var web = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}

func TestAFunctionIsAReconciler(t *testing.T) {
	want := reconcile.Result{RequeueAfter: time.Minute}
	var got reconcile.Request
	var reconciler reconcile.Reconciler = reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		got = request
		return want, errors.New("broken")
	})
	result, err := reconciler.Reconcile(t.Context(), web)
	require.Equal(t, web, got)
	require.Equal(t, want, result)
	require.EqualError(t, err, "broken")
}

func TestAResultIsZeroIfItAsksForNothing(t *testing.T) {
	var none *reconcile.Result
	require.True(t, none.IsZero())
	require.True(t, (&reconcile.Result{}).IsZero())
	require.False(t, (&reconcile.Result{Requeue: true}).IsZero())
	require.False(t, (&reconcile.Result{RequeueAfter: 1}).IsZero())
	require.False(t, (&reconcile.Result{Priority: new(0)}).IsZero())
}

// Whoever branches on the error inside must still be able to.
func TestATerminalErrorIsFoundAndUnwrapped(t *testing.T) {
	inner := apierrors.NewResourceExpired("old")
	err := fmt.Errorf("shop/web: %w", reconcile.TerminalError(inner))
	require.ErrorIs(t, err, reconcile.TerminalError(nil))
	require.ErrorIs(t, err, fmt.Errorf("wrapped: %w", reconcile.TerminalError(nil)))
	require.True(t, apierrors.IsResourceExpired(err))
	require.EqualError(t, err, "shop/web: terminal error: old")
	require.NotErrorIs(t, inner, reconcile.TerminalError(nil))
	require.NotErrorIs(t, reconcile.TerminalError(inner), errors.New("old"))
	require.EqualError(t, reconcile.TerminalError(nil), "nil terminal error")
}

func TestAWaitSaysForWhat(t *testing.T) {
	for _, c := range []struct {
		ref  reconcile.ObjectRef
		want string
	}{
		{reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "password"}, "waiting for Secret shop/password"},
		{reconcile.ObjectRef{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, "waiting for Deployment.apps shop/web"},
		{reconcile.ObjectRef{Kind: "Node", Name: "n1"}, "waiting for Node n1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			err := reconcile.WaitFor(c.ref)
			require.EqualError(t, err, c.want)
			for _, err := range []error{err, fmt.Errorf("shop/web: %w", err), reconcile.TerminalError(err)} {
				ref, waits := reconcile.WaitsFor(err)
				require.True(t, waits)
				require.Equal(t, c.ref, ref)
			}
		})
	}
}

// If a failure among several were taken for a wait, it would neither be logged nor retried.
func TestAWaitThatWasJoinedWithOthersIsNone(t *testing.T) {
	wait := reconcile.WaitFor(reconcile.ObjectRef{Kind: "Node", Name: "n1"})
	for _, err := range []error{nil, errors.New("broken"), errors.Join(wait, errors.New("broken")), fmt.Errorf("%w, and %w", wait, errors.New("broken"))} {
		_, waits := reconcile.WaitsFor(err)
		require.False(t, waits, "%v", err)
	}
}

func TestReasonsTravelInTheContext(t *testing.T) {
	require.Zero(t, reconcile.ReasonsFrom(t.Context()))
	q := workqueue.New(workqueue.Options[string]{})
	q.AddBecause("web", "Pod deleted")
	work, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Pod deleted"}, reconcile.ReasonsFrom(reconcile.WithReasons(t.Context(), work.Causes)).Reasons())
}
