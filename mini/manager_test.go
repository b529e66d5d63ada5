package mini_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// journal is what has happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string{}, j.lines...)
}

// part notes when it begins and when it has ended, some time after it was told to.
func (j *journal) part(name string, windDown time.Duration) mini.Runnable {
	return mini.RunnableFunc(func(ctx context.Context) error {
		j.note(name + " runs")
		<-ctx.Done()
		time.Sleep(windDown)
		j.note(name + " has ended")
		return nil
	})
}

// manage runs the manager. The channel gives what Run returns.
func (w *world) manage(m *mini.Manager) (stop context.CancelCauseFunc, result chan error) {
	ctx, stop := context.WithCancelCause(w.ctx)
	result = make(chan error, 1)
	w.running.Go(func() { result <- m.Run(ctx) })
	synctest.Wait()
	return stop, result
}

// returned waits until Run has returned, at most five minutes.
func (w *world) returned(result chan error) error {
	select {
	case err := <-result:
		return err
	case <-time.After(5 * time.Minute):
		require.Fail(w, "Run has not returned for five minutes")
		return nil
	}
}

var errSignal = errors.New("a signal has come")

// A program with nothing but a client must run until it is told to stop, and an orderly stop
// must not look like a crash.
//
// Function: Manager.Run
func TestAManagerWithNothingToRunWaitsForItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		stop, result := w.manage(mini.NewManager(w.Cluster))
		time.Sleep(time.Hour)
		require.Empty(w, result, "Run has returned, but nobody told it to stop")
		stop(errSignal) // signal.NotifyContext sets a cause, too
		require.NoError(w, w.returned(result), "a normal stop isn't a failure")
	})
}

// A controller whose informer stays empty would look healthy and never do anything.
//
// Function: Manager.Run
func TestAKindThatTheSchemeLacksIsAnErrorAndNothingStarts(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		some := runtime.NewScheme()
		some.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{})
		cluster, err := mini.NewCluster(w.Server.Config(), some)
		require.NoError(w, err)
		m := mini.NewManager(cluster)
		m.AddServer(j.part("server", time.Second))
		c := m.NewController("pages", 1, nil)
		c.Watch(m.Informer(&corev1.ConfigMap{}), mini.EnqueueObject)
		m.AddController(c)
		require.ErrorContains(w, m.Err(), "ConfigMap", "the scheme has only Pods")
		require.Same(w, m.Informer(&corev1.Pod{}), m.Informer(&corev1.Pod{}))
		require.ErrorContains(w, m.Err(), "ConfigMap", "the Pods' informer made it forget the error")
		m.Informer(&corev1.Secret{})
		require.ErrorContains(w, m.Err(), "ConfigMap", "the second error has replaced the first")
		_, result := w.manage(m)
		require.NotEmpty(w, result, "Run waits for an informer that stays empty")
		err = <-result
		require.ErrorContains(w, err, "ConfigMap")
		require.ErrorContains(w, err, "Secret")
		require.Empty(w, j.all(), "a part has started")
	})
}

// What a controller does is in the flight recorder, and it has the number of workers that
// it wants.
func TestAManagersControllerHasItsWorkersAndTheFlightRecorder(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Cluster.Trace = trace.New(10)
		m := mini.NewManager(w.Cluster)
		c := m.NewController("pages", 3, nil)
		require.Equal(w, "pages", c.Name)
		require.Equal(w, 3, c.Workers)
		require.Same(w, w.Cluster.Trace, c.Trace)
		require.Same(w, w.Cluster.Trace, c.Queue.Trace)
		pods, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		require.Same(w, pods, m.Informer(&corev1.Pod{}), "two informers would watch twice")
		require.NoError(w, m.Err())
	})
}

// Without an Elector this process always leads.
func TestServersAndControllersRunAndAreStoppedInReverseOrder(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		m.AddServer(j.part("server", time.Second))
		m.AddController(j.part("controller", 2*time.Second))
		stop, result := w.manage(m)
		require.ElementsMatch(w, []string{"server runs", "controller runs"}, j.all())
		stop(errSignal)
		require.NoError(w, w.returned(result))
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:],
			"the last reconcile may need the server")
	})
}

// If the second controller waited for the end of the first, only one of them would work.
//
// Function: run.all
func TestPartsOfOneKindRunAndEndAtTheSameTime(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		for range 3 {
			m.AddServer(j.part("server", time.Second))
			m.AddController(j.part("controller", 2*time.Second))
		}
		stop, result := w.manage(m)
		require.Len(w, j.all(), 6, "not all parts run")
		stop(errSignal)
		began := time.Now()
		require.NoError(w, w.returned(result))
		require.Len(w, j.all(), 12, "Run has returned before all parts have")
		require.Equal(w, 3*time.Second, time.Since(began),
			"a controller takes 2 s to end, a server 1 s; all of one kind are stopped at the same time")
	})
}

// A controller that starts with an empty cache believes that the cluster is empty.
//
// Function: Manager.lead
func TestControllersWaitForTheFirstListsAndServersDoNot(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		heal := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		m := mini.NewManager(w.Cluster)
		_, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		m.AddServer(j.part("server", time.Second))
		m.AddController(j.part("controller", 2*time.Second))
		stop, result := w.manage(m)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"server runs"}, j.all(),
			"want the server, which the first list may need, and no controller yet")
		heal()
		time.Sleep(2 * time.Minute)
		require.Equal(w, []string{"server runs", "controller runs"}, j.all(),
			"the first list is there now")
		stop(errSignal)
		require.NoError(w, w.returned(result))
	})
}

// Stopping a program that's still starting isn't a failure.
func TestAManagerThatIsStoppedBeforeItsCacheHasListedReturnsNil(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "pods"}, Hang: true})
		m := mini.NewManager(w.Cluster)
		_, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		m.AddController(j.part("controller", 2*time.Second))
		stop, result := w.manage(m)
		stop(errSignal)
		require.NoError(w, w.returned(result), "a stop isn't a failure, however early")
		require.Empty(w, j.all(), "a controller was started by the stop")
	})
}

// If an error gets lost, the program runs on and does nothing.
func TestTheFirstErrorEndsEverythingAndEveryErrorIsReturned(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for _, add := range []func(*mini.Manager, mini.Runnable){
		(*mini.Manager).AddServer, (*mini.Manager).AddController,
	} {
		inMemory(t, func(w *world) {
			var j journal
			m := mini.NewManager(w.Cluster)
			m.AddServer(j.part("server", time.Second))
			m.AddController(j.part("controller", 2*time.Second))
			m.AddController(mini.RunnableFunc(func(ctx context.Context) error {
				<-ctx.Done()
				return second
			}))
			add(m, mini.RunnableFunc(func(context.Context) error {
				time.Sleep(time.Minute)
				return first
			}))
			_, result := w.manage(m)
			time.Sleep(50 * time.Second)
			require.Empty(w, result, "no part has failed yet")
			err := w.returned(result)
			require.ErrorIs(w, err, first, "the error that ended everything is missing")
			require.ErrorIs(w, err, second, "an error of a part that was told to stop is missing")
			require.Len(w, j.all(), 4, "the others are stopped, and waited for")
		})
	}
}

// Parts commonly return ctx.Err(): an orderly stop would be a crash in every log.
//
// Function: run.failed
func TestAPartThatOnlyRepeatsThatItWasToldToStopHasNotFailed(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		for _, add := range []func(mini.Runnable){m.AddServer, m.AddController} {
			add(mini.RunnableFunc(func(ctx context.Context) error {
				<-ctx.Done()
				return fmt.Errorf("serving: %w", ctx.Err())
			}))
		}
		stop, result := w.manage(m)
		stop(errSignal)
		require.NoError(w, w.returned(result), "it was told to stop, and it did")
	})
}

// A controller was told to stop, and its last write ran into a time-out. That's more than being told: something hasn't been written.
//
// Function: run.all
func TestATimeOutAfterTheStopIsAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		m.AddController(mini.RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("the last write: %w", context.DeadlineExceeded)
		}))
		stop, result := w.manage(m)
		stop(errSignal)
		require.ErrorIs(w, w.returned(result), context.DeadlineExceeded)
	})
}

// A part that ends with context.Canceled by mistake is missing from then on.
func TestACancellationThatNobodyAskedForIsAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		m.AddServer(mini.RunnableFunc(func(context.Context) error { return context.Canceled }))
		_, result := w.manage(m)
		require.ErrorIs(w, w.returned(result), context.Canceled,
			"this part was never told to stop")
	})
}

// Only one of two processes may run the controllers; both serve webhooks.
//
// Function: Manager.lead
func TestOnlyTheLeaderRunsControllersAndTheLeaseIsReleased(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		other := w.lead(w.elector("b"), 0)
		w.took(other.working, "b works")
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		m.AddServer(j.part("server", time.Second))
		m.AddController(j.part("controller", 2*time.Second))
		stop, result := w.manage(m)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"server runs"}, j.all(), "b leads")
		other.stop(nil)
		time.Sleep(5 * time.Second)
		require.Equal(w, []string{"server runs", "controller runs"}, j.all())
		require.Equal(w, "a", w.holder())
		stop(errSignal)
		require.NoError(w, w.returned(result))
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:])
		require.Empty(w, w.holder(), "the next process waits 15 s for a lease that nobody needs")
	})
}

// A leader that may not read Pods keeps the lease from a process that may.
//
// Function: Manager.lead
func TestAProcessThatCannotListLeavesTheLeaseToOthers(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		_, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		stop, result := w.manage(m)
		time.Sleep(time.Minute)
		b := w.lead(w.elector("b"), 0)
		require.True(w, happened(b.working), "a has the lease, and can do nothing with it")
		stop(errSignal)
		require.NoError(w, w.returned(result))
	})
}

// Other parts of the program go on when one has done its work.
func TestAFinishedPartDoesNotStopTheOthers(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		done := mini.RunnableFunc(func(context.Context) error { return nil })
		m.AddServer(done)
		m.AddController(done)
		m.AddServer(j.part("server", time.Second))
		_, result := w.manage(m)
		time.Sleep(time.Minute)
		require.Empty(w, result, "nil means that the part has finished: that's not a failure")
		require.Equal(w, []string{"server runs"}, j.all())
		require.Equal(w, "a", w.holder(), "the manager leads until it ends")
	})
}

// A process that goes on working without the lease works at the same time as the next
// leader.
func TestALostLeaseEndsTheManager(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		m.AddServer(j.part("server", time.Second))
		m.AddController(j.part("controller", 2*time.Second))
		_, result := w.manage(m)
		w.hold(15, time.Now())
		require.ErrorIs(w, w.returned(result), mini.ErrLeaseLost)
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:])
	})
}

// A stop must not cut the last write of a controller, nor let another process write before it.
//
// Function: Manager.Run
func TestTheLastReconcileHasCacheAndClientAndTheLease(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		pods, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		begun := make(chan struct{})
		c := mini.NewController("slow", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				close(begun)
				<-ctx.Done()
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 12*time.Second)
				defer cancel()
				time.Sleep(8 * time.Second)
				if err := m.Client.Create(ctx, pod("second")); err != nil {
					w.Errorf("the last write of a reconcile is refused: %v", err)
				}
				_, err := mini.Get[*corev1.Pod](ctx, m.Client,
					mini.Request{Namespace: "default", Name: "second"})
				if err != nil {
					w.Errorf("the cache has ended before the last reconcile: %v", err)
				}
				time.Sleep(2 * time.Second)
				return mini.Result{}, nil
			}))
		c.Watch(pods, mini.EnqueueObject)
		m.AddController(c)
		stop, result := w.manage(m)
		_, err = w.Other.CoreV1().Pods("default").Create(w.ctx, pod("first"), metav1.CreateOptions{})
		require.NoError(w, err)
		w.took(begun, "the reconcile begins")
		b := w.lead(w.elector("b"), 0)
		stop(errSignal)
		time.Sleep(9 * time.Second)
		require.False(w, happened(b.working), "b has begun while a reconciles")
		require.NoError(w, w.returned(result))
		require.LessOrEqual(w, w.took(b.working, "b works"), 2*time.Second)
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// One part that hangs must not keep the others from an orderly stop, and the log must say
// which one it is.
func TestPartsThatHangAreReportedAndTheOthersAreStopped(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		until := make(chan struct{})
		defer time.Sleep(time.Second) // so that all of them can end
		defer close(until)
		hang := mini.RunnableFunc(func(context.Context) error {
			<-until
			return errors.New("too late for Run")
		})
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		m.AddServer(j.part("server", time.Second))
		m.AddController(j.part("controller", 2*time.Second))
		m.AddController(hang)
		stop, result := w.manage(m)
		stop(errSignal)
		began := time.Now()
		err := w.returned(result)
		require.ErrorContains(w, err, "controllers: still running 20s after the stop")
		require.NotContains(w, err.Error(), "server", "the servers have ended in time")
		require.NotContains(w, err.Error(), "cache", "the cache has ended in time")
		require.Equal(w, 21*time.Second, time.Since(began), "20 s for one group, and 1 s for another")
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:])
		require.Equal(w, "a", w.holder(), "a still works: no other process may begin")
	})
}

// A server that hangs must not keep the process from ending.
func TestAServerThatHangsIsAlsoReported(t *testing.T) {
	inMemory(t, func(w *world) {
		until := make(chan struct{})
		defer time.Sleep(time.Second) // so that all of them can end
		defer close(until)
		m := mini.NewManager(w.Cluster)
		m.AddServer(mini.RunnableFunc(func(context.Context) error { <-until; return nil }))
		stop, result := w.manage(m)
		stop(errSignal)
		began := time.Now()
		require.ErrorContains(w, w.returned(result), "servers: still running 20s after the stop")
		require.Equal(w, 20*time.Second, time.Since(began))
	})
}

// Run gives up waiting and reads the errors, and at that very moment the parts fail. The race detector sees it if Run doesn't take
// the lock.
//
// Function: Manager.Run
func TestPartsMayFailWhileRunReadsTheErrors(t *testing.T) {
	for range 10 {
		inMemory(t, func(w *world) {
			m := mini.NewManager(w.Cluster)
			for range 20 {
				m.AddServer(mini.RunnableFunc(func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(20 * time.Second)
					return errors.New("too late, or almost")
				}))
			}
			stop, result := w.manage(m)
			stop(errSignal)
			require.Error(w, w.returned(result))
		})
	}
}

// Kubernetes would kill a process that waits for its second group forever, and no log would say why.
//
// Function: Manager.Run
func TestEachGroupHasItsOwnTimeToEnd(t *testing.T) {
	inMemory(t, func(w *world) {
		until := make(chan struct{})
		defer time.Sleep(time.Second) // so that all of them can end
		defer close(until)
		hang := mini.RunnableFunc(func(context.Context) error { <-until; return nil })
		m := mini.NewManager(w.Cluster)
		m.AddServer(hang)
		m.AddController(hang)
		m.Informer(&corev1.Namespace{}).AddHandler(func(mini.Change) { <-until })
		_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		stop, result := w.manage(m)
		stop(errSignal)
		began := time.Now()
		err = w.returned(result)
		for _, group := range []string{"controllers", "cache", "servers"} {
			require.ErrorContains(w, err, group+": still running 20s after the stop", "all three hang")
		}
		require.Equal(w, time.Minute, time.Since(began), "20 s for each group")
	})
}
