package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// doors are the namespaces that a replica has. The real ones are sharding.Gate.
type doors struct {
	mu     sync.Mutex // guards what follows
	ends   map[string]context.CancelCauseFunc
	open   map[string]context.Context
	told   func(opened func(namespace string) bool)
	inside int
}

var errAway = errors.New("another replica has it")

func newDoors(namespaces ...string) *doors {
	d := &doors{ends: map[string]context.CancelCauseFunc{}, open: map[string]context.Context{}}
	for _, namespace := range namespaces {
		d.open[namespace], d.ends[namespace] = context.WithCancelCause(context.Background())
	}
	return d
}

func (d *doors) Enter(ctx context.Context, namespace string) (working context.Context, leave func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	term, ok := d.open[namespace]
	if !ok {
		return nil, nil, false
	}
	d.inside++
	working, end := context.WithCancelCause(ctx)
	context.AfterFunc(term, func() { end(context.Cause(term)) })
	return working, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.inside--
		end(nil)
	}, true
}

func (d *doors) OnOpen(f func(opened func(namespace string) bool)) (forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = f
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = nil
	}
}

func (d *doors) working() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}

// leaves gives a namespace away, and cuts off those who work there.
func (d *doors) leaves(namespace string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends[namespace](errAway)
	delete(d.open, namespace)
}

func (d *doors) comes(namespace string) {
	d.mu.Lock()
	d.open[namespace], d.ends[namespace] = context.WithCancelCause(context.Background())
	told := d.told
	d.mu.Unlock()
	told(func(opened string) bool { return opened == namespace })
	synctest.Wait()
}

func in(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// Two replicas would work on one object.
func TestARequestOfAnotherReplicasNamespaceIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		d := newDoors("red", "")
		r, queue := start(t, Options{Reconciler: made.answering(), Shards: d})
		queue.Add(in("blue", "theirs"))
		queue.Add(in("red", "ours"))
		queue.AddRateLimited(in("blue", "failed once"))
		queue.Add(in("", "without namespace"))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.ElementsMatch(t, []string{"ours", "without namespace"}, made.all())
		require.Zero(t, queue.Len())
		require.Zero(t, queue.NumRequeues(in("blue", "failed once")), "the next time it begins with no failures")
		require.Zero(t, d.working())
		require.NoError(t, r.end())
		require.Nil(t, d.told, "a controller that has ended hears nothing any more")
	})
}

// A controller that works in all replicas, such as one that fills a local table, would lack what it
// doesn't reconcile.
func TestAControllerThatNeedsNoElectionWorksOnEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		r, queue := start(t, Options{Reconciler: made.answering(), Shards: newDoors(), NeedLeaderElection: new(false)})
		queue.Add(in("blue", "everyone's"))
		synctest.Wait()
		require.Equal(t, []string{"everyone's"}, made.all())
		require.False(t, r.NeedLeaderElection())
		require.NoError(t, r.end())

		r, _ = start(t, Options{Reconciler: made.answering(), Shards: newDoors()})
		require.False(t, r.NeedLeaderElection(), "or it would wait for an election that isn't held")
		require.NoError(t, r.end())
	})
}

// The namespace goes while a reconcile is inside: it's cut off, and isn't tried again here.
func TestAReconcileIsCutOffWhenItsNamespaceGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		d := newDoors("red", "green")
		ended := map[string]error{}
		r, queue := start(t, Options{Shards: d, MaxConcurrentReconciles: 2, Reconciler: reconcile.Func(
			func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				made.add(request)
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				made.mu.Lock()
				defer made.mu.Unlock()
				ended[request.Name] = context.Cause(ctx)
				return reconcile.Result{}, ctx.Err()
			})})
		queue.Add(in("red", "goes"))
		queue.Add(in("green", "stays"))
		synctest.Wait()
		require.Equal(t, 2, d.working())
		d.leaves("red")
		synctest.Wait()
		require.Equal(t, 1, d.working(), "the handover waits for this")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.ElementsMatch(t, []string{"goes", "stays"}, made.all(), "its error is no reason to try again")
		require.Zero(t, queue.NumRequeues(in("red", "goes")))
		require.NoError(t, r.end())
		require.ErrorIs(t, ended["goes"], errAway)
		require.NoError(t, ended["stays"])
	})
}

// What waits in the queue when its namespace leaves isn't reconciled when it's due: an alarm, a
// retry, and what no worker has had time for.
func TestWhatWaitsInTheQueueOfANamespaceThatLeftIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		d := newDoors("red", "green")
		r, queue := start(t, Options{Shards: d, MaxRetries: 3, Reconciler: reconcile.Func(
			func(_ context.Context, request reconcile.Request) (result reconcile.Result, err error) {
				made.add(request)
				switch request.Name {
				case "alarm":
					result.RequeueAfter = time.Minute
				case "retry":
					err = errors.New("not yet")
				case "slow":
					time.Sleep(time.Second)
				}
				return result, err
			})})
		for _, name := range []string{"alarm", "retry", "slow", "queued"} {
			queue.Add(in("red", name))
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		d.leaves("red")
		before := made.all()
		require.NotContains(t, before, "queued")
		require.Contains(t, before, "retry")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, before, made.all())
		require.Zero(t, queue.Len())
		require.Empty(t, r.retries.made, "or it would give up too early when the namespace is back")

		d.comes("red")
		queue.Add(in("red", "alarm"))
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.Equal(t, append(before, "alarm", "alarm"), made.all(), "the second one is the alarm")
		require.NoError(t, r.end())
	})
}

// replays is a source that has an object in each of three namespaces.
type replays struct {
	sourceFunc
	mu    sync.Mutex // guards what follows
	fails int
	asked int
}

func (s *replays) Replay(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.fails > 0 {
		s.fails--
		return errors.New("the cache is busy")
	}
	for _, namespace := range []string{"red", "green", "blue"} {
		queue.Add(in(namespace, "plain of "+namespace))
		queue.AddAfter(in(namespace, "after of "+namespace), time.Second)
		queue.AddRateLimited(in(namespace, "limited of "+namespace))
		queue.(interface {
			AddWithOpts(workqueue.AddOpts, ...reconcile.Request)
		}).AddWithOpts(workqueue.AddOpts{}, in(namespace, "one of "+namespace), in("green", "mapped from "+namespace))
	}
	return nil
}

func newReplays() *replays {
	return &replays{sourceFunc: func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil }}
}

// What this replica dropped while the namespace was another one's is its own now. Objects of other
// namespaces aren't reconciled again: with a thousand of them, each handover would be a storm.
func TestTheSourcesReportTheObjectsOfANamespaceThatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		d := newDoors("red")
		r := prepare(t, Options{Reconciler: made.answering(), Shards: d})
		source := newReplays()
		require.NoError(t, r.Watch(source))
		r.begin()
		synctest.Wait()
		require.Empty(t, made.all())
		d.comes("green")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.ElementsMatch(t, []string{"plain of green", "after of green", "limited of green", "one of green",
			"mapped from red", "mapped from green", "mapped from blue"}, made.all())

		source.mu.Lock()
		source.fails = 3
		source.mu.Unlock()
		d.comes("blue")
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		require.NotContains(t, made.all(), "plain of blue")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, made.all(), "plain of blue")
		require.Equal(t, 5, source.asked, "one for green, and four for blue")
		require.NoError(t, r.end())
	})
}

// A controller that's stopped must not wait for a cache that's away.
func TestAReplayThatFailsEndsWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoors()
		r := prepare(t, Options{Reconciler: (&calls{}).answering(), Shards: d})
		source := newReplays()
		source.fails = 1 << 30
		require.NoError(t, r.Watch(source))
		r.begin()
		synctest.Wait()
		d.comes("blue")
		time.Sleep(10500 * time.Millisecond)
		synctest.Wait()
		before := time.Now()
		require.NoError(t, r.end())
		require.Equal(t, before, time.Now())
		require.Greater(t, source.asked, 5) // and it isn't asked any more
	})
}

var _ config.Shards = (*doors)(nil)
