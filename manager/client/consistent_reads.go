package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/metrics"
)

// consistentClient reads its own writes. It remembers the server's answer to each write, and a read
// from the cache first waits until the cache has seen it. The event ends the wait, and a read of
// objects that weren't written doesn't wait.
type consistentClient struct {
	*liveClient
	waiter WriteWaiter

	mu     sync.Mutex // guards writes
	writes map[resourceKey]*unconfirmedWrites
}

func newConsistentClient(live *liveClient, waiter WriteWaiter) *consistentClient {
	return &consistentClient{
		liveClient: live, waiter: waiter, writes: map[resourceKey]*unconfirmedWrites{},
	}
}

// writesOf returns the unconfirmed writes to an object's kind, or to that of a list's items. It
// returns nil if the server answers the reads, so that there's nothing to wait for. It also returns
// nil if the object is invalid: the call itself will say so.
func (c *consistentClient) writesOf(obj runtime.Object) *unconfirmedWrites {
	if cached, _ := c.reads.areCached(obj, c.Scheme()); !cached {
		return nil
	}
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil
	}
	key := resourceKey{itemKind(obj, gvk), encodingOf(obj)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writes[key] == nil {
		c.writes[key] = &unconfirmedWrites{resourceKey: key}
	}
	return c.writes[key]
}

// Get implements Reader.
func (c *consistentClient) Get(
	ctx context.Context, key ObjectKey, obj Object, opts ...GetOption,
) error {
	read := func() error { return c.liveClient.Get(ctx, key, obj, opts...) }
	writes := c.writesOf(obj)
	if writes == nil || new(GetOptions).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return read()
	}
	keys := []ObjectKey{key}
	if key.Namespace != "" { // a cluster-scoped kind is written without one
		keys = append(keys, ObjectKey{Name: key.Name})
	}
	return c.readAfter(ctx, "get", writes, keys, obj, read)
}

// List implements Reader.
func (c *consistentClient) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	read := func() error { return c.liveClient.List(ctx, list, opts...) }
	options := new(ListOptions).ApplyOptions(opts)
	writes := c.writesOf(list)
	if writes == nil || options.DisableReadYourWritesConsistency {
		return read()
	}
	return c.readAfter(ctx, "list", writes, writes.keys(options.Namespace), list, read)
}

// readAfter reads once the cache has seen the writes to these objects.
//
// It reads again if the cache shows an object as it was before a write that took it out of the
// cache's selectors. If the cache didn't have the object, that write has no event to wait for; but
// an older event, which brings the object, may still arrive.
func (c *consistentClient) readAfter(
	ctx context.Context, operation string, writes *unconfirmedWrites, keys []ObjectKey,
	into runtime.Object, read func() error,
) error {
	for {
		left, err := c.awaitAll(ctx, operation, writes, keys)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return read()
		}
		object := reflect.ValueOf(into).Elem()
		before := reflect.New(object.Type()).Elem()
		before.Set(object)
		if err := read(); err != nil || !showsOlder(into, left) {
			return err
		}
		object.Set(before) // maybe the object won't be found the next time
	}
}

// awaitAll waits until the cache has seen the writes to these objects. It returns the versions of
// those that have left the cache, but that the cache may show again for a moment.
func (c *consistentClient) awaitAll(
	ctx context.Context, operation string, writes *unconfirmedWrites, keys []ObjectKey,
) (left map[ObjectKey]string, err error) {
	began := time.Now()
	defer func() { observeWait(operation, time.Since(began), err) }()
	for _, key := range keys {
		version, err := c.await(ctx, writes, key)
		if err != nil {
			return nil, fmt.Errorf("%s %s %s, until the cache has seen what was written: %w",
				operation, writes.gvk.Kind, key, err)
		}
		if version != "" {
			if left == nil {
				left = map[ObjectKey]string{}
			}
			left[key] = version
		}
	}
	return left, nil
}

// await waits until a read shows the writes to an object, and then forgets them. It returns a
// version in which the object has left the cache, if the cache hasn't reached that yet.
//
// The version comes before the deletions, because a cache that hasn't seen an object's creation yet
// doesn't show the object either.
func (c *consistentClient) await(
	ctx context.Context, writes *unconfirmedWrites, key ObjectKey,
) (left string, err error) {
	unconfirmed := writes.to(key)
	if unconfirmed.isEmpty() {
		return "", nil
	}
	example, err := newObject(writes.gvk, writes.encoding, c.Scheme())
	if err != nil {
		return "", err
	}
	version, rewinds := c.reached(example, key)
	if rewinds != unconfirmed.rewinds && unconfirmed.ahead == "" {
		writes.confirmed(key, unconfirmed) // or undone: the server was restored from a backup
		return "", nil
	}
	if unconfirmed.ahead != "" && version == unconfirmed.ahead {
		return "", errAhead
	}
	switch version := unconfirmed.version; {
	case version == "":
	case unconfirmed.isHeld:
		err = c.waiter.WaitFor(ctx, example, key, version)
	default:
		isOlder := func(object Object) bool { return isNewer(version, object.GetResourceVersion()) }
		err = c.waiter.WaitForEnd(ctx, example, key, isOlder)
		if err == nil && c.waiter.WaitFor(ended, example, key, version) != nil {
			left, unconfirmed.version = version, "" // not forgotten
		}
	}
	if err == nil && len(unconfirmed.deleted) > 0 {
		isDeleted := func(object Object) bool { return unconfirmed.isDeleted(object.GetUID()) }
		err = c.waiter.WaitForEnd(ctx, example, key, isDeleted)
	}
	if err != nil {
		return "", err
	}
	writes.confirmed(key, unconfirmed)
	return left, nil
}

// errAhead is the error of a read whose view would lack an object that was created: the cache's
// versions no longer say anything about the server's. A controller that believed this view would
// create Pods without end. The error ends when the cache has moved: with its next view, or with an
// event.
var errAhead = errors.New("the server has given out an older version than the cache shows: " +
	"it was restored from a backup, and the cache has not noticed yet")

// ended is the context of a wait that only checks whether there's something to wait for.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// showsOlder reports whether an object, or one of a list, is older than its version in left.
func showsOlder(read runtime.Object, left map[ObjectKey]string) (found bool) {
	look := func(object runtime.Object) error {
		if about, err := meta.Accessor(object); err == nil {
			version := left[types.NamespacedName{Namespace: about.GetNamespace(),
				Name: about.GetName()}]
			found = found || version != "" && isNewer(version, about.GetResourceVersion())
		}
		return nil
	}
	if meta.IsListType(read) {
		_ = meta.EachListItem(read, look) // the cache has filled it, so that its items can be read
	} else {
		_ = look(read)
	}
	return found
}

// newObject returns an empty object of a kind, typed or not, which tells the cache what to look
// for.
func newObject(gvk schema.GroupVersionKind, e encoding, scheme *runtime.Scheme) (Object, error) {
	switch e {
	case unstructuredObject:
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		return obj, nil
	case metadataObject:
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		return obj, nil
	}
	obj, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	object, ok := obj.(Object)
	if !ok {
		return nil, fmt.Errorf("a %T isn't an object with a name", obj)
	}
	return object, nil
}

// consistencyWait has controller-runtime's name, labels and buckets.
var consistencyWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name: "controller_runtime_client_consistency_wait_duration_seconds",
	Help: "Time that reads from the cache have waited until it had seen earlier writes, in " +
		"seconds.",
	Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 6,
		8, 10},
	NativeHistogramBucketFactor:     1.1,
	NativeHistogramMaxBucketNumber:  100,
	NativeHistogramMinResetDuration: time.Hour,
}, []string{"operation", "result"})

func init() { ownmetrics.Register(metrics.Registry, consistencyWait) }

func observeWait(operation string, duration time.Duration, err error) {
	result := "success"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		result = "timeout"
	case err != nil:
		result = "error"
	}
	consistencyWait.WithLabelValues(operation, result).Observe(duration.Seconds())
}
