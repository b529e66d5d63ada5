package reconcile

import (
	"context"

	"github.com/loopwright/loopwright/workqueue"
)

type reasonsKey struct{}

// ReasonsFrom says why a Reconciler was called: the first few reasons with which its request was
// added, and how many adds there were. They are for logs and for people. A Reconciler that
// decides by them is wrong, because the next process finds all objects in a list, without them.
//
// They are empty if the controller's queue keeps none, and in a Batch of several requests.
func ReasonsFrom(ctx context.Context) workqueue.Causes {
	causes, _ := ctx.Value(reasonsKey{}).(workqueue.Causes)
	return causes
}

// WithReasons returns a context from which ReasonsFrom reads the causes. Controllers call it;
// others need it in tests only.
func WithReasons(ctx context.Context, causes workqueue.Causes) context.Context {
	return context.WithValue(ctx, reasonsKey{}, causes)
}
