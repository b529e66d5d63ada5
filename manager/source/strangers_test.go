package source

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/handler"
)

// bareInformer is a program's stub: it has what controller-runtime's source calls, and all other
// methods panic.
type bareInformer struct {
	cache.Informer
	handler clientgo.ResourceEventHandler
}

func (b *bareInformer) AddEventHandlerWithOptions(h clientgo.ResourceEventHandler, _ clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	b.handler = h
	return bareRegistration{}, nil
}

type bareRegistration struct {
	clientgo.ResourceEventHandlerRegistration
}

func (bareRegistration) HasSyncedChecker() clientgo.DoneChecker { return bareRegistration{} }
func (bareRegistration) Name() string                           { return "" }
func (bareRegistration) Done() <-chan struct{}                  { return nil }

// A source removes its handler when it ends, which controller-runtime's does not. A stub that cannot
// do so, and panics, must not take the program with it.
func TestAStubOfAnInformerNeedsNoMoreThanControllerRuntimeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub, queue := &bareInformer{}, newQueue()
		stop := starts(t, &Informer{Informer: stub, Handler: &handler.EnqueueRequestForObject{}}, queue)
		stub.handler.OnAdd(configMap("web"), false)
		require.Equal(t, 1, queue.Len())
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &Informer{Informer: stub, Handler: &diary{}}
		stopAgain := starts(t, s, queue)
		require.ErrorIs(t, s.WaitForSync(short), context.DeadlineExceeded)
		stop()
		stopAgain()
	})
}

// A client-go informer is a cache.Informer as it is.
func TestASharedInformerOfClientGoIsAnInformer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		shared := clientgo.NewSharedIndexInformer(&clientgo.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return w.configMaps.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return w.configMaps.Watch(ctx, o)
			},
		}, &corev1.ConfigMap{}, 0, clientgo.Indexers{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { shared.RunWithContext(ctx); close(ended) }()
		var told diary
		s := &Informer{Informer: shared, Handler: &told}
		stop := ready(t, s, newQueue())
		require.Equal(t, []string{"create web, initial: true"}, told.read())
		w.delete("web")
		synctest.Wait()
		require.Equal(t, []string{"delete web, unknown: false"}, told.read())
		stop()
		cancel()
		<-ended
	})
}

// strangeInformer is an informer that a program implements, with client-go's types alone.
type strangeInformer struct{}

func (strangeInformer) AddEventHandler(clientgo.ResourceEventHandler) (clientgo.ResourceEventHandlerRegistration, error) {
	return nil, errors.New("no")
}
func (strangeInformer) AddEventHandlerWithResyncPeriod(clientgo.ResourceEventHandler, time.Duration) (clientgo.ResourceEventHandlerRegistration, error) {
	return nil, errors.New("no")
}
func (strangeInformer) AddEventHandlerWithOptions(clientgo.ResourceEventHandler, clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	return nil, errors.New("no")
}
func (strangeInformer) RemoveEventHandler(clientgo.ResourceEventHandlerRegistration) error {
	return nil
}
func (strangeInformer) AddIndexers(clientgo.Indexers) error    { return nil }
func (strangeInformer) HasSynced() bool                        { return false }
func (strangeInformer) HasSyncedChecker() clientgo.DoneChecker { return nil }
func (strangeInformer) IsStopped() bool                        { return false }

var _ cache.Informer = strangeInformer{}
