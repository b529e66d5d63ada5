package controllers

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// A replica that waits to become the leader must not probe: the leader would answer, and the
// replica would give up.
func TestOnlyTheLeaderProbes(t *testing.T) {
	inWorld(t, func(w *world) {
		leads := w.other(0, w.writesStatus, &appsv1.ReplicaSetList{})
		defer leads()
		lease := metav1.NewMicroTime(time.Now())
		require.NoError(w, w.live.Create(w.Context(), leaseOf("leader", lease)))
		mgr, err := manager.New(w.connection(), manager.Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
			LeaderElection: true, LeaderElectionID: "controllers",
			LeaderElectionNamespace: "default",
			Controller: config.Controller{
				SkipNameValidation: new(true), EnableWarmup: new(true),
			},
		})
		require.NoError(w, err)
		build, err := Options{}.Builder(mgr, setProbe)
		require.NoError(w, err)
		require.NoError(w,
			build.For(&appsv1.ReplicaSet{}).Complete(reconcile.Func(func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			})))
		ended := make(chan error)
		go func() { ended <- mgr.Start(w.Context()) }()
		time.Sleep(50 * time.Second) // the lease is good for a minute
		synctest.Wait()
		require.Zero(w, w.did("replicasets")["create"])
		require.ErrorContains(w, <-ended, "has answered the probe")
	})
}

func TestAWarmUpNeedsAControllerThatDoesNotProbe(t *testing.T) {
	inWorld(t, func(w *world) {
		mgr, err := manager.New(w.connection(),
			manager.Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
		require.NoError(w, err)
		options := Options{Controller: controller.Options{EnableWarmup: new(true)}}
		_, err = options.Builder(mgr, setProbe)
		require.ErrorContains(w, err, "set Probe.Skip, or leave EnableWarmup out")
		_, err = Options{Controller: controller.Options{EnableWarmup: new(false)}}.Builder(mgr,
			setProbe)
		require.NoError(w, err, "nobody wants one")
		options.Probe.Skip = true
		_, err = options.Builder(mgr, setProbe)
		require.NoError(w, err)
		_, err = Options{}.Builder(mgr, Probe{Original: "nothing", Object: &unknownKind{}})
		require.ErrorContains(w, err, "the probe of the nothing")
		_, err = Options{}.Builder(mgr,
			Probe{Original: "nothing", Object: &corev1.Service{}, Answer: &unknownKind{}})
		require.ErrorContains(w, err, "the probe of the nothing")
	})
}

type unknownKind struct{ corev1.Pod }

func (u *unknownKind) DeepCopyObject() runtime.Object { return u }

// A cache that the user has written may not know when it has seen a write.
func TestAClientThatReadsItsWritesNeedsACacheThatWaits(t *testing.T) {
	inWorld(t, func(w *world) {
		recorder := trace.New(0)
		mgr, err := manager.New(w.connection(), manager.Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Recorder: recorder,
		})
		require.NoError(w, err)
		c, waiter, err := Client(mgr)
		require.NoError(w, err)
		require.NoError(w, c.Create(w.Context(), newSet("web")))
		events := recorder.Events()
		require.Equal(w, trace.Write, events[len(events)-1].Kind, "the manager's recorder sees it")
		require.Same(w, mgr.GetCache(), waiter)
		_, _, err = Client(withCache{mgr})
		require.ErrorContains(w, err,
			"needs a cache that is a client.WriteWaiter, and not a struct { cache.Cache }")
	})
}

type withCache struct{ manager.Manager }

func (withCache) GetCache() cache.Cache { return struct{ cache.Cache }{} }

func TestRunRunsOneControllerWithAsManyWorkersAsItsOptionsSay(t *testing.T) {
	for _, c := range []struct{ says, workers int }{{0, 5}, {2, 2}} {
		inWorld(t, func(w *world) {
			for i := range 10 {
				require.NoError(w, w.live.Create(w.Context(), newSet(fmt.Sprint("web", i))))
			}
			ctx, stop := context.WithTimeout(w.Context(), time.Minute)
			defer stop()
			var now, most atomic.Int32
			options := Options{
				Probe:      ProbeOptions{Skip: true},
				Controller: controller.Options{MaxConcurrentReconciles: c.says},
			}
			require.NoError(w, Run(ctx, w.connection(), options,
				func(mgr manager.Manager, options Options) error {
					options.Controller.SkipNameValidation = new(true)
					build, err := options.Builder(mgr, setProbe)
					require.NoError(w, err)
					require.Equal(w, float32(-1), mgr.GetConfig().QPS)
					return build.For(&appsv1.ReplicaSet{}).Complete(reconcile.Func(func(
						context.Context, reconcile.Request,
					) (reconcile.Result, error) {
						most.Store(max(most.Load(), now.Add(1)))
						time.Sleep(time.Second)
						now.Add(-1)
						return reconcile.Result{}, nil
					}))
				}))
			require.Equal(w, int32(c.workers), most.Load())
			require.ErrorIs(w, Run(ctx, w.connection(), options,
				func(manager.Manager, Options) error {
					return context.Canceled
				}), context.Canceled)
		})
	}
}

// A program may have its own limit, and Run must not change its configuration.
func TestRunLeavesTheConnectionOfItsCallerAsItIs(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, limit := range []struct{ has, want float32 }{{0, -1}, {7, 7}} {
			connection := w.connection()
			connection.QPS = limit.has
			err := Run(w.Context(), connection, Options{},
				func(mgr manager.Manager, _ Options) error {
					require.Equal(w, limit.want, mgr.GetConfig().QPS)
					return context.Canceled
				})
			require.ErrorIs(w, err, context.Canceled)
			require.Equal(w, limit.has, connection.QPS)
		}
		err := Run(w.Context(), &rest.Config{Host: "a b"}, Options{},
			func(manager.Manager, Options) error {
				return nil
			})
		require.Error(w, err, "nobody can connect to that")
	})
}

// A manager's settings hold for all its controllers, unless a controller has its own.
func TestTheManagersNumberOfWorkersGoesBeforeTheDefault(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 10 {
			require.NoError(w, w.live.Create(w.Context(), newSet(fmt.Sprint("web", i))))
		}
		mgr, err := manager.New(w.connection(), manager.Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
			Controller: config.Controller{
				SkipNameValidation: new(true), MaxConcurrentReconciles: 3,
			},
		})
		require.NoError(w, err)
		build, err := Options{Probe: ProbeOptions{Skip: true}}.Builder(mgr, setProbe)
		require.NoError(w, err)
		var now, most atomic.Int32
		require.NoError(w,
			build.For(&appsv1.ReplicaSet{}).Complete(reconcile.Func(func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return reconcile.Result{}, nil
			})))
		ctx, stop := context.WithTimeout(w.Context(), time.Minute)
		defer stop()
		require.NoError(w, mgr.Start(ctx))
		require.Equal(w, int32(3), most.Load())
	})
}

func leaseOf(holder string, since metav1.MicroTime) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "controllers"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(60)), AcquireTime: &since,
			RenewTime: &since,
		},
	}
}
