package informertest_test

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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/cache/informertest"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllertest"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// A test of a handler says what happens, and needs neither a server nor a wait.
func ExampleFakeInformers() {
	ctx := context.Background()
	fakes := &informertest.FakeInformers{}
	pods, err := fakes.GetInformer(ctx, &corev1.Pod{}) // what the tested code does
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = pods.AddEventHandler(informer.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { fmt.Println("added", object.(*corev1.Pod).Name) },
		DeleteFunc: func(object any) { fmt.Println("deleted", object.(*corev1.Pod).Name) },
	})

	fake, err := fakes.FakeInformerFor(ctx, &corev1.Pod{}) // what the test does
	if err != nil {
		fmt.Println(err)
		return
	}
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	fake.Add(web)
	fake.Delete(web)
	// Output:
	// added web
	// deleted web
}

// A test that is told of what did not happen is worth nothing.
func TestAFakeInformerTellsItsHandlersAndThoseThatWereRemovedNoMore(t *testing.T) {
	fakes := &informertest.FakeInformers{}
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	fake, err := fakes.FakeInformerForKind(t.Context(), kind)
	require.NoError(t, err)
	same, err := fakes.GetInformer(t.Context(), &corev1.Pod{})
	require.NoError(t, err)
	require.Same(t, fake, same)
	require.True(t, fake.HasSynced())
	told := []string{}
	handler := informer.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { told = append(told, "add") },
		UpdateFunc: func(any, any) { told = append(told, "update") },
		DeleteFunc: func(any) { told = append(told, "delete") },
	}
	first, err := fake.AddEventHandler(handler)
	require.NoError(t, err)
	_, err = fake.AddEventHandlerWithOptions(handler, informer.ResourceEventHandlerOptions{})
	require.NoError(t, err)
	require.True(t, first.HasSynced())
	pod := &corev1.Pod{}
	fake.Add(pod)
	require.Equal(t, []string{"add", "add"}, told)
	require.NoError(t, fake.RemoveEventHandler(first))
	require.NoError(t, fake.RemoveEventHandler(first))
	fake.Update(pod, pod)
	fake.Delete(pod)
	require.Equal(t, []string{"add", "add", "update", "delete"}, told)
	require.Error(t, controllertest.NewFakeInformer().RemoveEventHandler(first))

	require.NoError(t, fakes.RemoveInformer(t.Context(), pod))
	another, err := fakes.FakeInformerFor(t.Context(), pod)
	require.NoError(t, err)
	require.NotSame(t, fake, another)

	slow := controllertest.NewFakeInformer()
	require.False(t, slow.HasSynced())
	slow.Synced()
	<-slow.HasSyncedChecker().Done()
}

func TestAFakeCacheFailsWhenTheTestSaysSo(t *testing.T) {
	failure := errors.New("the test's")
	fakes := &informertest.FakeInformers{Error: failure, Synced: new(false)}
	_, err := fakes.GetInformer(t.Context(), &corev1.Pod{})
	require.ErrorIs(t, err, failure)
	_, err = fakes.FakeInformerFor(t.Context(), &corev1.Pod{})
	require.ErrorIs(t, err, failure)
	require.ErrorIs(t, fakes.Start(t.Context()), failure)
	require.False(t, fakes.WaitForCacheSync(t.Context()))
	require.True(t, (&informertest.FakeInformers{}).WaitForCacheSync(t.Context()))
	require.NoError(t, fakes.Get(t.Context(), client.ObjectKey{}, &corev1.Pod{}))
	require.NoError(t, fakes.List(t.Context(), &corev1.PodList{}))
	require.NoError(t, fakes.IndexField(t.Context(), &corev1.Pod{}, "x", nil))
	_, err = fakes.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("Unknown"))
	require.Error(t, err)
}

// A mistake in a test must be an error, and not an informer that nobody ever tells anything.
func TestAFakeCacheRefusesWhatItsSchemeDoesNotKnow(t *testing.T) {
	fakes := &informertest.FakeInformers{Scheme: runtime.NewScheme()}
	_, err := fakes.GetInformer(t.Context(), &corev1.Pod{})
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
	_, err = fakes.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("Pod"))
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
	require.True(t, runtime.IsNotRegisteredError(fakes.RemoveInformer(t.Context(), &corev1.Pod{})))
	require.Empty(t, fakes.InformersByGVK)
}

// A test may bring informers of its own making.
func TestAFakeCacheHandsOutTheInformersOfTheTest(t *testing.T) {
	own := struct{ cache.Informer }{controllertest.NewFakeInformer()}
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	fakes := &informertest.FakeInformers{InformersByGVK: map[schema.GroupVersionKind]cache.Informer{kind: own}, Synced: new(true)}
	got, err := fakes.GetInformer(t.Context(), &corev1.Pod{})
	require.NoError(t, err)
	require.Equal(t, own, got)
	_, err = fakes.FakeInformerFor(t.Context(), &corev1.Pod{})
	require.ErrorContains(t, err, "not a fake informer")
	require.True(t, fakes.WaitForCacheSync(t.Context()))
}

// The sources of a controller ask for their informers at the same time.
func TestAFakeCacheMayBeAskedByManyAtOnce(t *testing.T) {
	var c informertest.FakeInformers
	var asking sync.WaitGroup
	for range 64 {
		asking.Go(func() {
			for _, obj := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
				if _, err := c.GetInformer(t.Context(), obj); err != nil {
					t.Error(err)
				}
				if err := c.RemoveInformer(t.Context(), obj); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
}

// A test of what happens when the cache does not sync says so with a fake, and waits for the error.
func TestASourceOfAFakeThatDoesNotSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		pods := source.Kind[client.Object](&informertest.FakeInformers{Synced: new(false)}, &corev1.Pod{}, &handler.EnqueueRequestForObject{})
		require.NoError(t, pods.Start(ctx, queue))
		require.EqualError(t, pods.WaitForSync(ctx), "cache did not sync")
	})
}
