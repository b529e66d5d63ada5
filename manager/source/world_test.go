package source

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// The tests of this package run in a synctest bubble: time passes when everybody waits, and a
// goroutine that is left at the end fails the test.

// world is an API server, and a cache that reads from it as if it were user agent "the-cache".
type world struct {
	t          *testing.T
	server     *fakeapi.Server
	configMaps typed.ConfigMapInterface
	cache      *testCache
}

const namespace = "shop"

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		defer w.end()
		test(t, w)
	})
}

func newWorld(t *testing.T, seed uint64) *world {
	server := fakeapi.New(fakeapi.Options{Seed: seed, NoManagedFields: true})
	c, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	_, err = c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.CopyConfig(server.Config())
	config.UserAgent = "the-cache"
	w := &world{t: t, server: server, configMaps: c.CoreV1().ConfigMaps(namespace), cache: &testCache{config: config}}
	return w
}

func (w *world) end() {
	w.cache.remove()
	w.cache.running.Wait()
	w.server.Close()
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func (w *world) create(name string) *corev1.ConfigMap {
	w.t.Helper()
	made, err := w.configMaps.Create(w.t.Context(), configMap(name), metav1.CreateOptions{})
	require.NoError(w.t, err)
	return made
}

func (w *world) change(name, value string) {
	w.t.Helper()
	found, err := w.configMaps.Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	found.Data = map[string]string{"value": value}
	_, err = w.configMaps.Update(w.t.Context(), found, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) delete(name string) {
	w.t.Helper()
	require.NoError(w.t, w.configMaps.Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}

// testCache has an informer of ConfigMaps.
type testCache struct {
	cache.Cache
	config  *rest.Config
	running sync.WaitGroup
	resync  time.Duration

	mu       sync.Mutex // guards the rest
	informer *informer.Informer[*corev1.ConfigMap]
	cancel   context.CancelFunc // stops the informer
	asked    []time.Time
	refuses  func() error // if it is there and returns an error, GetInformer does
}

func (*testCache) WaitForCacheSync(context.Context) bool { return true }

func (c *testCache) GetInformer(_ context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, time.Now())
	if c.refuses != nil {
		if err := c.refuses(); err != nil {
			return nil, err
		}
	}
	options := cache.InformerGetOptions{}
	for _, opt := range opts {
		opt(&options)
	}
	if options.BlockUntilSynced == nil || *options.BlockUntilSynced {
		return nil, fmt.Errorf("a source that waits here cannot say what it waits for")
	}
	if c.informer == nil {
		from, err := informer.NewListWatch[*corev1.ConfigMap](c.config, corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{Namespace: obj.GetNamespace()})
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		c.informer, c.cancel = informer.NewInformer[*corev1.ConfigMap](from, informer.InformerOptions[*corev1.ConfigMap]{}), cancel
		running := c.informer
		c.running.Go(func() { _ = running.Run(ctx) })
	}
	return cache.InformerOf(c.informer, "configmaps", c.resync), nil
}

// remove ends the informer. The next GetInformer makes another one.
func (c *testCache) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.informer != nil {
		c.cancel()
		c.informer, c.cancel = nil, nil
	}
}

func (c *testCache) refuse(with func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses = with
}

// asks returns when the cache was asked for the informer, counted from began.
func (c *testCache) asks(began time.Time) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var since []time.Duration
	for _, at := range c.asked {
		since = append(since, at.Sub(began))
	}
	return since
}

// controllerQueue is what a controller gives its sources.
type controllerQueue struct {
	*workqueue.PriorityQueue[reconcile.Request]
	log      *logtest.Collected
	recorder *trace.Recorder
}

func newQueue() controllerQueue {
	return controllerQueue{workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{}), &logtest.Collected{}, trace.New(100)}
}

func (q controllerQueue) GetLogger() logr.Logger { return q.log.Logger(0) }
func (q controllerQueue) FlightRecorder() (r *trace.Recorder, name string) {
	return q.recorder, "mirror"
}

// waiting returns the names of the requests in the queue, sorted, and empties it.
func (q controllerQueue) waiting() []string {
	var names []string
	for q.Len() > 0 {
		request, _ := q.Get()
		names = append(names, request.Name)
		q.Done(request)
	}
	slices.Sort(names)
	return names
}

// diary is a handler that writes down what it is told, and adds the object's name to the queue.
type diary struct {
	takes time.Duration // each call

	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) note(q requestQueue, object client.Object, format string, args ...any) {
	time.Sleep(d.takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
	q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}})
}

// read returns what was noted since the last call.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) Create(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	d.note(q, e.Object, "create %s, initial: %v", e.Object.GetName(), e.IsInInitialList)
}

func (d *diary) Update(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	value := func(o client.Object) string { return o.(*corev1.ConfigMap).Data["value"] }
	d.note(q, e.ObjectNew, "update %s, %q to %q", e.ObjectNew.GetName(), value(e.ObjectOld), value(e.ObjectNew))
}

func (d *diary) Delete(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	d.note(q, e.Object, "delete %s, unknown: %v", e.Object.GetName(), e.DeleteStateUnknown)
}

func (d *diary) Generic(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	d.note(q, e.Object, "generic %s", e.Object.GetName())
}

// stoppable is what all sources are that have goroutines.
type stoppable interface {
	Source
	WaitForStop()
}

// starts starts a source. stop ends it and waits; it is called at the end of the test at the latest.
func starts(t *testing.T, s Source, q requestQueue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, s.Start(ctx, q))
	stop = func() {
		cancel()
		s.(stoppable).WaitForStop()
	}
	t.Cleanup(stop)
	return stop
}

// ready starts a source, and waits until it is ready.
func ready(t *testing.T, s SyncingSource, q requestQueue) (stop func()) {
	t.Helper()
	stop = starts(t, s, q)
	require.NoError(t, s.WaitForSync(t.Context()))
	return stop
}

// requestQueue is the queue that a source and a handler are given.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
