package controllertest

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Queue is a TypedQueue whose requests are the names of objects.
type Queue = TypedQueue[reconcile.Request]

// TypedQueue is a rate-limited queue for tests. It adds everything at once: delays and failures
// make no difference.
//
//	queue := &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
type TypedQueue[request comparable] struct {
	workqueue.TypedInterface[request]

	AddedRateLimitedLock sync.Mutex // guards AddedRatelimited
	// AddedRatelimited are the requests that were passed to AddRateLimited.
	AddedRatelimited []any
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*Queue)(nil)

// AddAfter adds the item at once.
func (q *TypedQueue[request]) AddAfter(item request, _ time.Duration) { q.Add(item) }

// AddRateLimited adds the item at once, and remembers it in AddedRatelimited.
func (q *TypedQueue[request]) AddRateLimited(item request) {
	q.AddedRateLimitedLock.Lock()
	q.AddedRatelimited = append(q.AddedRatelimited, item)
	q.AddedRateLimitedLock.Unlock()
	q.Add(item)
}

// Forget does nothing.
func (q *TypedQueue[request]) Forget(request) {}

// NumRequeues is always 0.
func (q *TypedQueue[request]) NumRequeues(request) int { return 0 }

// ErrorType is an object that no scheme knows, for tests of that error.
type ErrorType struct{}

var _ runtime.Object = ErrorType{}

// GetObjectKind returns nil.
func (ErrorType) GetObjectKind() schema.ObjectKind { return nil }

// DeepCopyObject returns nil.
func (ErrorType) DeepCopyObject() runtime.Object { return nil }
