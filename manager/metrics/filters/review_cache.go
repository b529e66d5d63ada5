package filters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// These bound the memory and the goroutines: a program has a few scrapers, but any client can send
// tokens.
const (
	maxKept    = 1000
	maxReviews = 100 // at a time
)

var errBusy = errors.New("too many other reviews have no answer yet")

// reviewCache keeps the API server's answers for a limited time. Requests that need the same answer
// at the same time share one review. Errors are not kept.
type reviewCache[V any] struct {
	kept     *cache.LRUExpireCache
	underWay singleflight.Group
	slots    chan struct{} // a review holds one while it runs; the capacity is the limit
}

func newReviewCache[V any]() *reviewCache[V] {
	return &reviewCache[V]{
		kept: cache.NewLRUExpireCache(maxKept), slots: make(chan struct{}, maxReviews),
	}
}

// get returns the cached answer, or asks for it. The end of ctx does not cancel the review, because
// other requests may wait for it, too: ask must have a timeout of its own.
func (c *reviewCache[V]) get(
	ctx context.Context, key string, ask func(context.Context) (V, time.Duration, error),
) (answer V, err error) {
	if kept, ok := c.kept.Get(key); ok {
		return kept.(V), nil
	}
	result := c.underWay.DoChan(key, func() (any, error) {
		return c.review(context.WithoutCancel(ctx), key, ask)
	})
	select {
	case r := <-result:
		answer, _ = r.Val.(V)
		return answer, r.Err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// review turns a panic into an error, as net/http would: it fails a request, and does not end the
// process.
func (c *reviewCache[V]) review(
	ctx context.Context, key string, ask func(context.Context) (V, time.Duration, error),
) (answer V, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a review has panicked: %v", r)
		}
	}()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return answer, errBusy
	}
	answer, keep, err := ask(ctx)
	if err == nil {
		c.kept.Add(key, answer, keep)
	}
	return answer, err
}
