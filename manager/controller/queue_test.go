package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	upstream "k8s.io/client-go/util/workqueue"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// queueKinds are the queues that a controller may run on. All that a controller promises holds
// for each of them.
var queueKinds = []struct {
	name       string
	use        func(*Options)
	priorities bool
}{
	{"priority queue", func(*Options) {}, true},
	{"first-in first-out", func(o *Options) { o.UsePriorityQueue = new(false) }, false},
	{"client-go's queue", func(o *Options) { o.NewQueue = upstreamQueue }, false},
	{"a queue with priorities that knows no contexts", func(o *Options) { o.NewQueue = withPriorities }, true},
}

func upstreamQueue(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return upstreamDrained{upstream.NewTypedRateLimitingQueue(upstream.TypedRateLimiter[reconcile.Request](limiter))}
}

// upstreamDrained is client-go's queue with a drain that does not return while something waits,
// as its documentation says.
type upstreamDrained struct {
	upstream.TypedRateLimitingInterface[reconcile.Request]
}

func withPriorities(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return struct {
		priorityqueue.PriorityQueue[reconcile.Request]
	}{priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter, o.MetricProvider = limiter, nil })}
}

func TestAControllerRunsOnEveryQueue(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				options := Options{
					RateLimiter: &workqueue.Exponential[reconcile.Request]{Base: time.Second},
					Reconciler: calls.answering(
						returns{Err: errBroken},
						returns{Err: errBroken},
						returns{Result: reconcile.Result{RequeueAfter: time.Minute}},
						returns{Err: errWaiting},
						returns{Err: errWaiting},
						returns{},
					),
				}
				kind.use(&options)
				c, queue := start(t, options)
				queue.Add(req("web"))
				synctest.Wait()
				for _, step := range []struct {
					after time.Duration
					looks int
				}{{0, 1}, {time.Second, 2}, {2 * time.Second, 3}, {time.Minute, 5}} {
					time.Sleep(step.after)
					synctest.Wait()
					require.Len(t, calls.all(), step.looks)
				}
				queue.(reconcile.Waker).Wake(secret)
				synctest.Wait()
				require.Len(t, calls.all(), 6)
				require.Zero(t, queue.NumRequeues(req("web")))
				require.NoError(t, c.end())
				require.True(t, queue.ShuttingDown())
			})
		})
	}
}

// A handler gives priorities to what it adds, if the queue that it is given knows
// them.
func TestASourceCanAddWithPriorities(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				options := Options{Reconciler: calls.answering()}
				kind.use(&options)
				c, queue := start(t, options)
				prioritized := queue.(priorityqueue.PriorityQueue[reconcile.Request])
				prioritized.AddWithOpts(workqueue.AddOpts{Priority: new(1)}, req("now"))
				prioritized.AddWithOpts(workqueue.AddOpts{After: time.Second}, req("later"))
				prioritized.AddWithOpts(workqueue.AddOpts{RateLimited: true}, req("soon"))
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, []string{"now", "soon", "later"}, calls.all())
				require.NoError(t, c.end())
			})
		})
	}
}

func TestWhatMattersMoreComesFirstIfTheQueueKnowsPriorities(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				release := make(chan struct{})
				options := Options{Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
					<-release
					if calls.add(r) == 0 && r.Name == "low" {
						return reconcile.Result{RequeueAfter: 1}, nil
					}
					time.Sleep(time.Millisecond) // or the alarm is not due yet when the next is taken
					return reconcile.Result{}, nil
				})}
				kind.use(&options)
				c, queue := start(t, options)
				prioritized := queue.(priorityqueue.PriorityQueue[reconcile.Request])
				prioritized.AddWithOpts(workqueue.AddOpts{Priority: new(-5)}, req("low"))
				synctest.Wait() // a worker has it
				prioritized.AddWithOpts(workqueue.AddOpts{Priority: new(-7)}, req("lower"))
				prioritized.Add(req("normal"))
				close(release)
				time.Sleep(time.Second)
				require.NoError(t, c.end())
				if kind.priorities {
					require.Equal(t, []string{"low", "normal", "low", "lower"}, calls.all(), "and a retry keeps its priority")
				} else {
					require.Equal(t, []string{"low", "lower", "normal", "low"}, calls.all())
				}
			})
		})
	}
}

// brittleQueue panics when it is shut down twice, as controller-runtime's with priorities does.
type brittleQueue struct{ requestQueue }

func (q brittleQueue) ShutDown() {
	if q.ShuttingDown() {
		panic("close of closed channel")
	}
	q.requestQueue.ShutDown()
}

func (q brittleQueue) ShutDownWithDrain() { q.ShutDown() }

// The process would crash at each stop.
func TestAForeignQueueIsShutDownOnce(t *testing.T) {
	for _, drains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			reconciler := &slow{takes: time.Second}
			c, queue := start(t, Options{Reconciler: reconciler, DrainOnStop: drains, GracePeriod: 1500 * time.Millisecond, NewQueue: func(string, workqueue.TypedRateLimiter[reconcile.Request]) requestQueue {
				return brittleQueue{upstreamQueue("", workqueue.DefaultLimiter[reconcile.Request]())}
			}})
			add(queue, "a", "b", "c")
			synctest.Wait()
			require.NoError(t, c.end())
			require.True(t, queue.ShuttingDown())
		})
	}
}

func TestADrainOfOurPlainQueueSaysWhatIsLeft(t *testing.T) {
	queue := adapt(workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil))
	queue.Add(req("web"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	require.Equal(t, errBroken, queue.Drain(ctx))
}

// A worker that calls Done twice will next take a request from another worker's hands.
func TestMisuseOfTheQueueIsLogged(t *testing.T) {
	for _, priorities := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log logtest.Collected
			c, queue := start(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0), UsePriorityQueue: &priorities})
			queue.Done(req("web"))
			require.NoError(t, c.end())
			require.Len(t, log.With("Misused work queue"), 1)
		})
	}
}

// The reasons are what makes a log of reconciles readable.
func TestThePlainQueueKeepsReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []string
		c, queue := start(t, Options{UsePriorityQueue: new(false), Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			reasons = append(reasons, reconcile.ReasonsFrom(ctx).String())
			return reconcile.Result{Requeue: len(reasons) == 1}, nil
		})})
		queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(workqueue.AddOpts{Reason: "* changed", About: workqueue.Subject{Name: "Pod"}}, req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Equal(t, []string{"Pod changed", "tried again"}, reasons)
	})
}

func TestTheQueueIsMadeWithTheNameAndTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &workqueue.Exponential[reconcile.Request]{}
		made := 0
		options := Options{Reconciler: new(calls).answering(), RateLimiter: limiter, EnableWarmup: new(true)}
		options.NewQueue = func(name string, with workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			made++
			require.Equal(t, t.Name(), name)
			require.Same(t, limiter, with)
			return workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{})
		}
		c := prepare(t, options)
		require.Zero(t, made, "a controller that is never started must not leave a queue behind")
		require.NoError(t, c.Warmup(t.Context()))
		c.begin()
		synctest.Wait()
		require.Equal(t, 1, made)
		require.NoError(t, c.end())
	})
}

// A source that waits for a kind says so in the controller's log, and what it drops is part of the
// controller's story.
func TestASourceIsGivenTheControllersLoggerAndRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		recorder := trace.New(1)
		c, queue := start(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0), Recorder: recorder})
		given, layer := queue.(interface {
			FlightRecorder() (recorder *trace.Recorder, layer string)
		}).FlightRecorder()
		require.Same(t, recorder, given)
		require.Equal(t, t.Name(), layer)
		queue.(interface{ GetLogger() logr.Logger }).GetLogger().Info("the kind is not installed")
		require.NoError(t, c.end())
		require.Len(t, log.With("the kind is not installed"), 1)
		require.Contains(t, log.With("the kind is not installed")[0], t.Name())
	})
}

// adapt is the queue of a controller whose NewQueue returns this one.
func adapt(queue requestQueue) *controllerQueue[reconcile.Request] {
	return &controllerQueue[reconcile.Request]{TypedRateLimitingInterface: queue}
}

func add(queue interface{ Add(reconcile.Request) }, names ...string) {
	for _, name := range names {
		queue.Add(req(name))
	}
}

func TestWhatAReconcileDoesIsRecordedInItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		r, queue := start(t, Options{Recorder: recorder, Kind: "Website", Reconciler: reconcile.Func(
			func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				recorder.RecordBy(ctx, trace.Event{Kind: trace.Write})
				return reconcile.Result{}, nil
			})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, r.end())
		writes := trace.Filter{Kinds: []trace.Kind{trace.Write}}.Select(recorder.Events())
		require.Len(t, writes, 1)
		require.Equal(t, "Website web", writes[0].ToObject+" "+writes[0].ToName)
		require.NotEmpty(t, writes[0].Layer)
	})
}
