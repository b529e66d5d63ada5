package filters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// These bound the memory, the goroutines and the load on the API server: a program has a few
// scrapers, but any client can send tokens.
const (
	maxKept    = 1000 // accepted answers, and as many refusals
	maxReviews = 25   // at a time for callers that are known, and as many for strangers
	maxGuesses = 100  // strangers' reviews that run or wait: four rounds of 25
	// a caller is known for so long after a review has accepted it
	knownFor = time.Hour
)

var errBusy = errors.New("too many other reviews have no answer yet")

// reviewCache keeps the API server's answers for a limited time. Requests that need the same answer
// at the same time share one review. Errors aren't kept.
//
// A key that has been accepted is known. Strangers can make up as many keys as they like, and those
// cost the known ones nothing: refusals don't evict accepted answers, and don't take up the slots
// that renew them.
type reviewCache[V any] struct {
	accepts  func(V) bool          // whether an answer lets its caller in
	accepted *cache.LRUExpireCache // each a kept[V], for knownFor
	refused  *cache.LRUExpireCache // each a V
	underWay singleflight.Group

	// A review holds one element in these while it runs; the capacity is the limit.
	known, strangers chan struct{}
	guesses          chan struct{} // and a stranger's in this one, while it runs or waits
}

// kept is an accepted answer.
type kept[V any] struct {
	answer V
	until  time.Time // its caller is known for longer
}

func newReviewCache[V any](accepts func(V) bool) *reviewCache[V] {
	return &reviewCache[V]{
		accepts:  accepts,
		accepted: cache.NewLRUExpireCache(maxKept), refused: cache.NewLRUExpireCache(maxKept),
		known: make(chan struct{}, maxReviews), strangers: make(chan struct{}, maxReviews),
		guesses: make(chan struct{}, maxGuesses),
	}
}

// get returns the cached answer, or asks for it. The end of ctx doesn't cancel the review, because
// other requests may wait for it, too: ask must have a timeout of its own.
func (c *reviewCache[V]) get(
	ctx context.Context, key string, ask func(context.Context) (V, time.Duration, error),
) (answer V, err error) {
	last, known := c.accepted.Get(key)
	if known && !time.Now().After(last.(kept[V]).until) {
		return last.(kept[V]).answer, nil
	}
	if refusal, ok := c.refused.Get(key); ok {
		return refusal.(V), nil
	}
	result := c.underWay.DoChan(key, func() (any, error) {
		return c.review(context.WithoutCancel(ctx), key, known, ask)
	})
	select {
	case r := <-result:
		answer, _ = r.Val.(V)
		return answer, r.Err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// review waits for a slot, asks, and keeps the answer. It turns a panic into an error, as net/http
// would: it fails a request, and doesn't end the process.
func (c *reviewCache[V]) review(
	ctx context.Context, key string, known bool,
	ask func(context.Context) (V, time.Duration, error),
) (answer V, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a review has panicked: %v", r)
		}
	}()
	slots := c.known // there are no more of them than accepted answers, so all may wait
	if !known {
		slots = c.strangers
		select {
		case c.guesses <- struct{}{}:
			defer func() { <-c.guesses }()
		default:
			return answer, errBusy
		}
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	answer, keep, err := ask(ctx)
	switch {
	case err != nil:
	case c.accepts(answer):
		c.accepted.Add(key, kept[V]{answer, time.Now().Add(keep)}, knownFor)
	default:
		c.refused.Add(key, answer, keep)
	}
	return answer, err
}
