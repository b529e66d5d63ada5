package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

func TestMistakesInTheOptionsAreErrors(t *testing.T) {
	reconciler := new(calls).answering()
	_, err := NewUnmanaged("", Options{Reconciler: reconciler})
	require.ErrorContains(t, err, "needs a name")
	_, err = NewUnmanaged(t.Name(), Options{})
	require.ErrorContains(t, err, "needs a Reconciler")
	_, err = NewUnmanaged(t.Name(), Options{Reconciler: reconciler})
	require.NoError(t, err, "a mistake must not take the name")
	freeName(t.Name())
}

// What a manager's settings say is for controllers that do not say it themselves.
func TestAControllersOwnOptionsCountMoreThanTheManagers(t *testing.T) {
	settings := config.Controller{
		SkipNameValidation: new(true), MaxConcurrentReconciles: 4, CacheSyncTimeout: time.Minute,
		RecoverPanic: new(false), NeedLeaderElection: new(false), EnableWarmup: new(true),
		UsePriorityQueue: new(false), Logger: funcr.New(func(string, string) {}, funcr.Options{}), ReconciliationTimeout: time.Second,
	}
	var taken Options
	taken.DefaultFromConfig(settings)
	require.Equal(t, settings, config.Controller{
		SkipNameValidation: taken.SkipNameValidation, MaxConcurrentReconciles: taken.MaxConcurrentReconciles,
		CacheSyncTimeout: taken.CacheSyncTimeout, RecoverPanic: taken.RecoverPanic, NeedLeaderElection: taken.NeedLeaderElection,
		EnableWarmup: taken.EnableWarmup, UsePriorityQueue: taken.UsePriorityQueue, Logger: taken.Logger,
		ReconciliationTimeout: taken.ReconciliationTimeout,
	})
	own := Options{
		SkipNameValidation: new(false), MaxConcurrentReconciles: 1, CacheSyncTimeout: time.Hour,
		RecoverPanic: new(true), NeedLeaderElection: new(true), EnableWarmup: new(false),
		UsePriorityQueue: new(true), Logger: logr.Discard().WithSink(funcr.New(func(string, string) {}, funcr.Options{}).GetSink()),
		ReconciliationTimeout: time.Hour,
	}
	kept := own
	kept.DefaultFromConfig(settings)
	require.Equal(t, own, kept)
}

func TestAControllerNeedsLeaderElectionUnlessItSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		option *bool
		want   bool
	}{{nil, true}, {new(true), true}, {new(false), false}} {
		c2, err := NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering(), NeedLeaderElection: c.option, SkipNameValidation: new(true)})
		require.NoError(t, err)
		require.Equal(t, c.want, c2.(interface{ NeedLeaderElection() bool }).NeedLeaderElection())
	}
}

// A user who leaves everything out gets what the documentation says.
func TestOptionsThatAreLeftOutHaveTheirDefaults(t *testing.T) {
	options := Options{Reconciler: new(calls).answering()}
	require.NoError(t, options.complete("web"))
	require.Equal(t, 1, options.MaxConcurrentReconciles)
	require.Equal(t, 2*time.Minute, options.CacheSyncTimeout)
	require.Zero(t, options.GracePeriod, "as in controller-runtime")
	require.Nil(t, options.Group, "as in controller-runtime")
	require.Equal(t, 10*time.Minute, options.WaitFallback)
	require.IsType(t, &workqueue.Exponential[reconcile.Request]{}, options.RateLimiter)
	require.NotNil(t, options.LogConstructor(nil).GetSink(), "errors must not go nowhere")
	require.Zero(t, options.MaxRetries)
	require.Zero(t, options.ReconciliationTimeout)

	plain := Options{Reconciler: new(calls).answering(), UsePriorityQueue: new(false), MaxConcurrentReconciles: 1}
	require.NoError(t, plain.complete("web"))
	require.IsType(t, workqueue.DefaultLimiter[reconcile.Request](), plain.RateLimiter, "as in controller-runtime")

	own := Options{
		Reconciler: new(calls).answering(), UsePriorityQueue: new(false), RateLimiter: &workqueue.Exponential[reconcile.Request]{},
		MaxConcurrentReconciles: 7, CacheSyncTimeout: 7, GracePeriod: 7, WaitFallback: 7,
		Group: func(reconcile.Request) string { return "all" },
	}
	require.NoError(t, own.complete("web"))
	require.Equal(t, "all", own.Group(req("web")))
	require.IsType(t, &workqueue.Exponential[reconcile.Request]{}, own.RateLimiter)
	require.Equal(t, []any{7, time.Duration(7), time.Duration(7), time.Duration(7)},
		[]any{own.MaxConcurrentReconciles, own.CacheSyncTimeout, own.GracePeriod, own.WaitFallback})
}

// What is safer is one choice, and what a controller says itself counts more.
func TestAControllerOfAStrictManagerHasAGracePeriodAndNamespacesTakeTurns(t *testing.T) {
	var taken Options
	taken.DefaultFromConfig(config.Controller{Strict: true})
	require.Equal(t, 10*time.Second, taken.GracePeriod)
	require.Equal(t, "shop", taken.Group(req("web")))
	own := Options{GracePeriod: -1, Group: func(reconcile.Request) string { return "all" }}
	own.DefaultFromConfig(config.Controller{Strict: true})
	require.Equal(t, time.Duration(-1), own.GracePeriod)
	require.Equal(t, "all", own.Group(req("web")))
}

// Whoever wants a drain wants it to have some time.
func TestADrainHasAGracePeriod(t *testing.T) {
	options := Options{Reconciler: new(calls).answering(), DrainOnStop: true}
	require.NoError(t, options.complete("web"))
	require.Equal(t, 10*time.Second, options.GracePeriod)
}

// Two controllers share a name if both want it. The end of one must not free it for a third.
func TestAControllerThatSkippedTheValidationFreesNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Reconciler: new(calls).answering()}
		first, _ := start(t, options)
		second := options
		second.SkipNameValidation = new(true)
		c, _ := start(t, second)
		require.NoError(t, c.end())
		_, err := NewUnmanaged(t.Name(), options)
		require.Error(t, err)
		require.NoError(t, first.end())
	})
}
