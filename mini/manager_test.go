package mini_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
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

// part notes when it begins and when it has ended, a second after it was told to.
func (j *journal) part(name string) mini.Runnable {
	return mini.RunnableFunc(func(ctx context.Context) error {
		j.note(name + " runs")
		<-ctx.Done()
		time.Sleep(time.Second)
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

// returned waits until Run has returned, at most an hour.
func (w *world) returned(result chan error) error {
	select {
	case err := <-result:
		return err
	case <-time.After(time.Hour):
		require.Fail(w, "Run has not returned for an hour")
		return nil
	}
}

var errSignal = errors.New("a signal has come")

func TestAManagerWithNothingToRunWaitsForItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		stop, result := w.manage(mini.NewManager(w.Cluster))
		time.Sleep(time.Hour)
		require.Empty(w, result)
		stop(errSignal) // signal.NotifyContext sets a cause, too
		require.NoError(w, w.returned(result), "a normal stop is no failure")
	})
}

func TestPartsOfAllKindsRunAndAreStoppedInTheOppositeOrder(t *testing.T) {
	for _, elected := range []bool{false, true} {
		inMemory(t, func(w *world) {
			var j journal
			m := mini.NewManager(w.Cluster)
			if elected {
				m.Elector = w.elector("a")
			}
			m.AddServer(j.part("server"))
			m.AddController(j.part("controller"))
			stop, result := w.manage(m)
			require.ElementsMatch(w, []string{"server runs", "controller runs"}, j.all())
			stop(errSignal)
			require.NoError(w, w.returned(result))
			require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:],
				"the last reconcile may need the server")
			if elected {
				require.Empty(w, w.holder(), "the lease is released")
			}
		})
	}
}

func TestControllersWaitForTheCacheAndTheLeaseDoes(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		heal := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		_, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		m.AddServer(j.part("server"))
		m.AddController(j.part("controller"))
		stop, result := w.manage(m)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"server runs"}, j.all(), "servers run before the cache has listed")
		b := w.lead(w.elector("b"), 0)
		require.Zero(w, w.took(b.working, "b works"),
			"a process that cannot list keeps the lease from those that can")
		b.stop(nil)
		heal()
		time.Sleep(2 * time.Minute)
		require.Equal(w, []string{"server runs", "controller runs"}, j.all())
		stop(errSignal)
		require.NoError(w, w.returned(result))
	})
}

func TestAManagerThatIsStoppedBeforeItsCacheHasListedReturnsNil(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "pods"}, Hang: true})
		m := mini.NewManager(w.Cluster)
		_, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		m.AddController(j.part("controller"))
		stop, result := w.manage(m)
		stop(errSignal)
		require.NoError(w, w.returned(result))
		require.Empty(w, j.all())
	})
}

func TestTheLastReconcileHasCacheAndClientAndTheLease(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		pods, err := m.Cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		begun := make(chan struct{})
		var read *corev1.Pod
		c := mini.NewController("slow", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				close(begun)
				<-ctx.Done()
				ctx = context.WithoutCancel(ctx)
				time.Sleep(10 * time.Second)
				_, err := w.Other.CoreV1().Pods("default").
					Create(ctx, pod("second"), metav1.CreateOptions{})
				require.NoError(w, err)
				time.Sleep(10 * time.Second)
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				read, err = mini.Get[*corev1.Pod](ctx, m.Client,
					mini.Request{Namespace: "default", Name: "second"})
				if err != nil {
					w.Errorf("the cache is older than the last reconcile: %v", err)
				}
				return mini.Result{}, m.Client.Create(ctx, pod("third"))
			}))
		c.Watch(pods, mini.EnqueueObject)
		m.AddController(c)
		stop, result := w.manage(m)
		_, err = w.Other.CoreV1().Pods("default").Create(w.ctx, pod("first"), metav1.CreateOptions{})
		require.NoError(w, err)
		<-begun
		b := w.lead(w.elector("b"), 0)
		stop(errSignal)
		time.Sleep(19 * time.Second)
		require.False(w, happened(b.working), "b has begun while a reconciles")
		require.NoError(w, w.returned(result))
		require.NotNil(w, read)
		_, err = w.Other.CoreV1().Pods("default").Get(w.ctx, "third", metav1.GetOptions{})
		require.NoError(w, err, "the last write of a reconcile is made")
		require.LessOrEqual(w, w.took(b.working, "b works"), 2*time.Second)
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func TestTheFirstErrorEndsAllAndEveryErrorIsReturned(t *testing.T) {
	first, second, third := errors.New("first"), errors.New("second"), errors.New("third")
	for _, add := range []func(*mini.Manager, mini.Runnable){
		(*mini.Manager).AddServer, (*mini.Manager).AddController,
	} {
		inMemory(t, func(w *world) {
			var j journal
			m := mini.NewManager(w.Cluster)
			m.AddServer(j.part("server"))
			m.AddController(j.part("controller"))
			m.AddController(mini.RunnableFunc(func(ctx context.Context) error {
				<-ctx.Done()
				return second
			}))
			m.AddServer(mini.RunnableFunc(func(ctx context.Context) error {
				<-ctx.Done()
				return errors.Join(third, ctx.Err())
			}))
			add(m, mini.RunnableFunc(func(context.Context) error {
				time.Sleep(time.Minute)
				return first
			}))
			_, result := w.manage(m)
			require.Len(w, j.all(), 2)
			time.Sleep(50 * time.Second)
			require.Empty(w, result)
			err := w.returned(result)
			require.ErrorIs(w, err, first)
			require.ErrorIs(w, err, second)
			require.Len(w, j.all(), 4, "the others are stopped, and waited for")
		})
	}
}

func TestAPartThatOnlyRepeatsThatItWasToldToStopHasNotFailed(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		for _, add := range []func(mini.Runnable){m.AddServer, m.AddController} {
			add(mini.RunnableFunc(func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}))
		}
		stop, result := w.manage(m)
		stop(errSignal)
		require.NoError(w, w.returned(result))
	})
}

func TestACancellationThatNobodyAskedForIsAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		m.AddServer(mini.RunnableFunc(func(context.Context) error { return context.Canceled }))
		_, result := w.manage(m)
		require.ErrorIs(w, w.returned(result), context.Canceled)
	})
}

func TestAPartThatIsFinishedStopsNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		done := mini.RunnableFunc(func(context.Context) error { return nil })
		m.AddServer(done)
		m.AddController(done)
		m.AddServer(j.part("server"))
		_, result := w.manage(m)
		time.Sleep(time.Minute)
		require.Empty(w, result)
		require.Equal(w, []string{"server runs"}, j.all())
		require.Equal(w, "a", w.holder(), "the manager leads until it ends")
	})
}

func TestALostLeaseEndsTheManager(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		m.AddServer(j.part("server"))
		m.AddController(j.part("controller"))
		_, result := w.manage(m)
		w.hold(15, time.Now())
		require.ErrorIs(w, w.returned(result), mini.ErrLeaseLost)
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:])
	})
}

// stubborn is a part that does not end when it is told to.
type stubborn struct{ until chan struct{} }

func (s stubborn) Run(context.Context) error {
	<-s.until
	return nil
}

func TestAPartThatHangsIsNamedAndTheOthersAreStopped(t *testing.T) {
	inMemory(t, func(w *world) {
		var j journal
		until := make(chan struct{})
		defer time.Sleep(time.Second) // for what ends then
		defer close(until)
		m := mini.NewManager(w.Cluster)
		m.Elector = w.elector("a")
		m.StopTimeout = 20 * time.Second
		m.AddServer(j.part("server"))
		m.AddController(j.part("controller"))
		m.AddController(stubborn{until})
		c := mini.NewController("endless", mini.ReconcilerFunc(
			func(context.Context, mini.Request) (mini.Result, error) {
				<-until
				return mini.Result{}, nil
			}))
		c.Queue.Add(mini.Request{Name: "x"})
		m.AddController(c)
		stop, result := w.manage(m)
		require.Len(w, j.all(), 2)
		stop(errSignal)
		began := time.Now()
		err := w.returned(result)
		require.ErrorContains(w, err, "stubborn")
		require.ErrorContains(w, err, "endless")
		require.NotContains(w, err.Error(), "Cache", "the cache has ended in time")
		require.NotContains(w, err.Error(), "RunnableFunc", "the others have ended in time")
		require.InDelta(w, 21, time.Since(began).Seconds(), 0.1)
		require.Equal(w, []string{"controller has ended", "server has ended"}, j.all()[2:])
		require.Equal(w, "a", w.holder(), "a still works: no other process may begin")
	})
}

func TestAServerThatHangsIsGivenHalfAMinute(t *testing.T) {
	inMemory(t, func(w *world) {
		until := make(chan struct{})
		defer time.Sleep(time.Second) // for what ends then
		defer close(until)
		m := mini.NewManager(w.Cluster)
		m.AddServer(stubborn{until})
		m.AddServer(stubborn{until})
		stop, result := w.manage(m)
		stop(errSignal)
		began := time.Now()
		require.ErrorContains(w, w.returned(result), "stubborn")
		require.InDelta(w, 30, time.Since(began).Seconds(), 0.1)
	})
}
