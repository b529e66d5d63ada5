package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// ofElection are options with an election; each manager that has them is a replica.
func ofElection() Options {
	return Options{LeaderElection: true, LeaderElectionID: "shop",
		LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true}
}

// lead lets time pass until a manager leads.
func lead(t *testing.T, r *running) {
	t.Helper()
	for range 60 {
		if r.isElected() {
			return
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	t.Fatal("nobody leads after a minute")
}

func TestTheLeadIsHandedOverWhenTheLeaderStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var story story
		first, second := w.manager(ofElection()), w.manager(ofElection())
		require.NoError(t, first.Add(&part{name: "first", story: &story,
			slowToEnd: 8 * time.Second}))
		require.NoError(t, second.Add(&part{name: "second", story: &story}))
		a := w.start(first)
		lead(t, a)
		b := w.start(second)
		time.Sleep(5 * time.Minute)
		require.False(t, b.isElected())
		began := time.Now()
		require.NoError(t, a.end())
		require.Equal(t, 8*time.Second, time.Since(began))
		lead(t, b)
		require.Less(t, time.Since(began), 14*time.Second,
			"the lease was released, so nobody waits until it has run out")
		require.Equal(t, []string{"first starts", "first is told", "first ends", "second starts"},
			story.told())
		require.NoError(t, b.end())
	})
}

// A new installation of a program that was ported works at once, as before.
func TestTheFirstLeaderWorksAtOnceUnlessItIsStrict(t *testing.T) {
	for name, strict := range inorder.Map(map[string]bool{"by default": false, "strict": true}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				options := ofElection()
				options.Strict = strict
				r := w.start(w.manager(options))
				require.Equal(t, !strict, r.isElected())
				time.Sleep(15 * time.Second)
				require.Equal(t, !strict, r.isElected(),
					"somebody may have deleted the lease, and its holder may still work")
				lead(t, r)
				require.NoError(t, r.end())
			})
		})
	}
}

// A process that does not stop in time may still be at work. Whoever leads next must wait.
func TestALeaseIsNotReleasedIfTheWorkHasNotEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var story story
		options := ofElection()
		options.GracefulShutdownTimeout = new(3 * time.Second)
		first, second := w.manager(options), w.manager(ofElection())
		require.NoError(t, first.Add(&part{name: "stubborn", story: &story,
			slowToEnd: 14 * time.Second}))
		require.NoError(t, second.Add(&part{name: "second", story: &story}))
		a := w.start(first)
		lead(t, a)
		b := w.start(second)
		require.ErrorContains(t, a.end(),
			"still running: stubborn (leader-elected), leader election shop")
		lead(t, b)
		synctest.Wait()
		require.Equal(t, []string{"stubborn starts", "stubborn is told", "stubborn ends",
			"second starts"}, story.told())
		require.NoError(t, b.end())
	})
}

func TestWhoLosesTheLeaseStopsItsReconcilesAtOnceAndReturnsWhy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configMap("one")
		m := w.manager(ofElection())
		var cut error
		c, err := controller.New(t.Name(), m,
			controller.Options{GracePeriod: time.Hour,
				Reconciler: reconcile.Func(func(
					ctx context.Context, _ reconcile.Request,
				) (reconcile.Result, error) {
					<-ctx.Done()
					cut = context.Cause(ctx)
					return reconcile.Result{}, nil
				})})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
			&handler.EnqueueRequestForObject{})))
		var story story
		require.NoError(t, m.groups.addTo(others,
			&part{name: "other", story: &story, slowToEnd: time.Second}))
		r := w.start(m)
		lead(t, r)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Refuse: true})
		began := time.Now()
		err = <-r.ended
		require.ErrorIs(t, err, leaderelection.ErrLost)
		require.ErrorContains(t, err, "leader election lost")
		require.LessOrEqual(t, time.Since(began), 13*time.Second,
			"when nothing is renewed, and what ends gracefully")
		require.Error(t, cut, "the reconcile was cut off, whatever its grace period")
		require.Contains(t, story.told(), "other ends",
			"what does not need the lead ends gracefully")
	})
}

// Another replica leads 15 s after the last renewal.
func TestAManagerThatHasLostItsLeaseDoesNotWaitForWorkThatDoesNotEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		var story story
		require.NoError(t, m.Add(&part{name: "stubborn", story: &story, slowToEnd: time.Hour}))
		r := w.start(m)
		lead(t, r)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Refuse: true})
		began := time.Now()
		err := <-r.ended
		require.ErrorIs(t, err, leaderelection.ErrStillWorking)
		require.LessOrEqual(t, time.Since(began), 15*time.Second)
		require.Equal(t, 1, strings.Count(err.Error(), "leader election lost"),
			"it is said once: %s", err)
		time.Sleep(2 * time.Hour)
	})
}

func TestWhatDoesNotNeedTheLeadRunsInEachReplica(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var story story
		first, second := w.manager(ofElection()), w.manager(ofElection())
		for number, m := range []*controllerManager{first, second} {
			require.NoError(t, m.Add(&independent{part{name: fmt.Sprint("replica ", number),
				story: &story}}))
			require.NoError(t, m.Add(&part{name: "leader", story: &story}))
		}
		a, b := w.start(first), w.start(second)
		time.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"replica 0 starts", "replica 1 starts", "leader starts"},
			story.told())
		require.NoError(t, errors.Join(a.end(), b.end()))
	})
}

type independent struct{ part }

func (*independent) NeedLeaderElection() bool { return false }

func TestAControllerWithWarmupIsReadyBeforeItLeads(t *testing.T) {
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprint(warm), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				first := w.start(w.manager(ofElection()))
				lead(t, first)
				options := ofElection()
				options.Controller = config.Controller{EnableWarmup: &warm}
				m := w.manager(options)
				reconciled := 0
				c, err := controller.New(t.Name(), m,
					controller.Options{Reconciler: reconcile.Func(func(
						context.Context, reconcile.Request,
					) (reconcile.Result, error) {
						reconciled++
						return reconcile.Result{}, nil
					})})
				require.NoError(t, err)
				require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
					&handler.EnqueueRequestForObject{})))
				w.configMap("one")
				second := w.start(m)
				time.Sleep(time.Minute)
				require.Equal(t, warm, len(w.requestsOf("configmaps")) > 1,
					"beside the test's own create")
				require.Zero(t, reconciled, "it does not lead")
				require.NoError(t, first.end())
				lead(t, second)
				time.Sleep(time.Minute)
				require.Equal(t, 1, reconciled)
				require.NoError(t, second.end())
			})
		})
	}
}

func TestWhoNeverLedStopsItsWarmupToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.start(w.manager(ofElection()))
		lead(t, first)
		options := ofElection()
		options.Controller = config.Controller{EnableWarmup: new(true),
			SkipNameValidation: new(true)}
		m := w.manager(options)
		c, err := controller.New(t.Name(), m, controller.Options{Reconciler: reconcile.Func(nil)})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
			&handler.EnqueueRequestForObject{})))
		second := w.start(m)
		time.Sleep(time.Minute)
		require.NoError(t, second.end())
		require.NoError(t, first.end())
	})
}

// A store that is given the token can refuse what a former leader writes.
func TestRunnablesOfTheLeaderHaveItsFence(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for number := range 2 {
			m := w.manager(ofElection())
			var fence leaderelection.Fence
			require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
				fence, _ = leaderelection.FenceFrom(ctx)
				<-ctx.Done()
				return nil
			})))
			r := w.start(m)
			lead(t, r)
			require.NoError(t, r.end())
			require.Equal(t, number, fence.Transitions)
			require.NotEmpty(t, fence.Identity)
		}
	})
}

func TestTheElectionIsReportedAsEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.start(w.manager(ofElection()))
		lead(t, r)
		require.NoError(t, r.end())
		list, err := w.live.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var notes []string
		for _, event := range list.Items {
			require.Equal(t, "Lease", event.InvolvedObject.Kind)
			notes = append(notes, event.Message)
		}
		require.Len(t, notes, 2)
		require.Contains(t, notes[0], "became leader")
		require.Contains(t, notes[1], "stopped leading")
	})
}

// As in controller-runtime: a program may make a manager that it never starts.
func TestAnElectionWhoseTimesCannotWorkIsRefusedByStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			want   string
			change func(*Options)
		}{
			{"leader election shop: LeaseDuration is 9s", func(o *Options) {
				o.LeaseDuration = new(9 * time.Second)
			}},
			{"leader election shop: RenewDeadline is 1s", func(o *Options) {
				o.RenewDeadline = new(time.Second)
			}},
		} {
			options := ofElection()
			c.change(&options)
			m := w.manager(options)
			var story story
			require.NoError(t, m.Add(&independent{part{name: "probe", story: &story}}))
			require.ErrorContains(t, m.Start(t.Context()), c.want)
			require.Empty(t, story.told())
		}
	})
}

func TestAnElectionThatCannotWorkIsRefusedByNew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			want   string
			change func(*Options)
		}{
			{"LeaderElectionID is missing", func(o *Options) { o.LeaderElectionID = "" }},
			{"LeaderElectionNamespace is needed", func(o *Options) {
				o.LeaderElectionNamespace = ""
			}},
			{`there is no lock of type "configma`, func(o *Options) {
				o.LeaderElectionResourceLock = "configmaps"
			}},
		} {
			options := ofElection()
			c.change(&options)
			_, err := New(w.server.Config(), options)
			require.ErrorContains(t, err, c.want)
		}
	})
}

// Replicas that are built with another library keep the same times, and count on them.
func TestTheTimesOfAnElectionAreThoseThatMostProgramsHave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.start(w.manager(ofElection()))
		lead(t, r)
		lease := func() coordinationv1.LeaseSpec {
			lease, err := w.live.CoordinationV1().Leases("default").Get(t.Context(), "shop",
				metav1.GetOptions{})
			require.NoError(t, err)
			return lease.Spec
		}
		require.Equal(t, int32(15), *lease().LeaseDurationSeconds)
		renewed := lease().RenewTime.Time
		time.Sleep(time.Until(renewed.Add(2*time.Second - time.Millisecond)))
		require.Equal(t, renewed, lease().RenewTime.Time,
			"it is renewed every 2 s, and not more often")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2*time.Second, lease().RenewTime.Sub(renewed), "it is renewed every 2 s")
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases", Verb: "update"},
			Refuse: true})
		renewed = lease().RenewTime.Time
		require.ErrorIs(t, <-r.ended, leaderelection.ErrLost)
		require.Equal(t, 12*time.Second, time.Since(renewed).Truncate(time.Microsecond),
			"the next renewal was due after 2 s, and then it tries for 10 s")
	})
}

func TestALeaseInAnotherClusterIsTakenThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		there := fakeapi.New(fakeapi.Options{})
		defer there.Close()
		options := ofElection()
		options.LeaderElectionConfig = there.Config()
		r := w.start(w.manager(options))
		lead(t, r)
		require.Empty(t, w.requestsOf("leases"))
		require.NotEmpty(t, there.Requests(fakeapi.Match{Resource: "leases"}))
		require.NoError(t, r.end())
		require.NotEmpty(t, there.Requests(fakeapi.Match{Resource: "events"}))
	})
}
