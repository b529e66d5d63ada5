package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// consistentClient reads its own writes. It notes each write in a log; a read from the cache waits
// until the cache has seen what the log has. The wait ends with the event, and costs nothing if
// nothing was written.
type consistentClient struct {
	*liveClient
	waiter WriteWaiter

	mu   sync.Mutex // guards logs
	logs map[endpointKey]*writeLog
}

func newConsistentClient(live *liveClient, waiter WriteWaiter) *consistentClient {
	return &consistentClient{liveClient: live, waiter: waiter, logs: map[endpointKey]*writeLog{}}
}

// logOf returns the log for an object, or for the items of a list; nil if reads of it are not cached,
// so that there is nothing to wait for. What is wrong with an object, the call itself says.
func (c *consistentClient) logOf(obj runtime.Object) *writeLog {
	if cached, _ := c.reads.areCached(obj, c.Scheme()); !cached {
		return nil
	}
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil
	}
	key := endpointKey{itemKind(obj, gvk), formOf(obj)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs[key] == nil {
		c.logs[key] = &writeLog{endpointKey: key}
	}
	return c.logs[key]
}

// Get implements Reader.
func (c *consistentClient) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	log := c.logOf(obj)
	if log == nil || (&GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return c.liveClient.Get(ctx, key, obj, opts...)
	}
	keys := []ObjectKey{key}
	if key.Namespace != "" { // which says nothing if the kind is in no namespace
		keys = append(keys, ObjectKey{Name: key.Name})
	}
	return readAfter(obj, func() (departures, error) { return c.catchUp(ctx, "get", log, keys) },
		func(into Object) error { return c.liveClient.Get(ctx, key, into, opts...) })
}

// List implements Reader.
func (c *consistentClient) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	options := (&ListOptions{}).ApplyOptions(opts)
	log := c.logOf(list)
	if log == nil || options.DisableReadYourWritesConsistency {
		return c.liveClient.List(ctx, list, opts...)
	}
	return readAfter(list, func() (departures, error) { return c.catchUp(ctx, "list", log, log.keys(options.Namespace)) },
		func(into ObjectList) error { return c.liveClient.List(ctx, into, opts...) })
}

// catchUp waits until the cache has seen what was written to these objects before. It returns those that
// have left the cache, but of which it may still show an older state for a moment.
func (c *consistentClient) catchUp(ctx context.Context, operation string, log *writeLog, keys []ObjectKey) (leaving departures, err error) {
	began := time.Now()
	defer func() { observeWait(operation, time.Since(began), err) }()
	for _, key := range keys {
		for _, write := range log.writesInFlight(key) {
			select {
			case <-write:
			case <-ctx.Done():
				return nil, fmt.Errorf("%s %s %s, which is being written: %w", operation, log.gvk.Kind, key, context.Cause(ctx))
			}
		}
		left, err := c.await(ctx, log, key)
		if err != nil {
			return nil, fmt.Errorf("%s %s %s, until the cache has seen what was written: %w", operation, log.gvk.Kind, key, err)
		}
		if left != "" {
			leaving = leaving.with(key, left)
		}
	}
	return leaving, nil
}

// await waits until a read shows what the log has about an object. What the cache has seen is forgotten then.
// What it returns is a version in which the object has left the cache, and which the cache has not reached.
//
// First the versions, then the deletes: before the cache has seen that an object was made, it does not
// have it either, and shows it for a moment later.
func (c *consistentClient) await(ctx context.Context, log *writeLog, key ObjectKey) (left string, err error) {
	version, holds, deleted := log.answered(key)
	if version == "" && len(deleted) == 0 {
		return "", nil // most reads, which should not have to make an example
	}
	example, err := newObject(log.gvk, log.form, c.Scheme())
	if err != nil {
		return "", err
	}
	switch {
	case version == "":
	case holds:
		err = c.waiter.WaitFor(ctx, example, key, version)
	default:
		version, left, err = c.awaitExit(ctx, example, key, version)
	}
	if err != nil {
		return "", err
	}
	for _, uid := range deleted {
		hasUID := func(object Object) bool { return object.GetUID() == uid }
		if err := c.waiter.WaitForEnd(ctx, example, key, hasUID); err != nil {
			return "", err
		}
	}
	log.seen(key, version, deleted)
	return left, nil
}

// prune forgets what the cache has seen already, without waiting.
func (c *consistentClient) prune(log *writeLog) {
	if !log.wantsPruning() {
		return
	}
	for _, key := range log.keys("") {
		c.forgetSeen(log, key)
	}
	log.pruned()
}

// forgetSeen forgets what the cache has seen of an object already.
func (c *consistentClient) forgetSeen(log *writeLog, key ObjectKey) {
	_, _ = c.await(ended, log, key) // an error is one that is still to be seen
}

// newObject returns an empty object of a kind and a form, by which the cache knows what is meant.
func newObject(gvk schema.GroupVersionKind, f form, scheme *runtime.Scheme) (Object, error) {
	switch f {
	case formUnstructured:
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		return obj, nil
	case formMetadata:
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
		return nil, fmt.Errorf("a %T is no object with a name", obj)
	}
	return object, nil
}
