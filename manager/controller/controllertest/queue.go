package controllertest

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Queue is a rate-limited queue for tests, to which everything is added at once: a delay and a
// failure make no difference.
//
//	queue := &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
type Queue struct {
	workqueue.TypedInterface[reconcile.Request]

	AddedRateLimitedLock sync.Mutex // guards AddedRatelimited
	// AddedRatelimited are the requests that AddRateLimited was called with.
	AddedRatelimited []any
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*Queue)(nil)

// AddAfter adds the item at once.
func (q *Queue) AddAfter(item reconcile.Request, _ time.Duration) { q.Add(item) }

// AddRateLimited adds the item at once, and writes it down.
func (q *Queue) AddRateLimited(item reconcile.Request) {
	q.AddedRateLimitedLock.Lock()
	q.AddedRatelimited = append(q.AddedRatelimited, item)
	q.AddedRateLimitedLock.Unlock()
	q.Add(item)
}

// Forget does nothing.
func (q *Queue) Forget(reconcile.Request) {}

// NumRequeues is always 0.
func (q *Queue) NumRequeues(reconcile.Request) int { return 0 }

// ErrorType is an object that no scheme knows, to see what happens then.
type ErrorType struct{}

var _ runtime.Object = ErrorType{}

// GetObjectKind returns nil.
func (ErrorType) GetObjectKind() schema.ObjectKind { return nil }

// DeepCopyObject returns nil.
func (ErrorType) DeepCopyObject() runtime.Object { return nil }
