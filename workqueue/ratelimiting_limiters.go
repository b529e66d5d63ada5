package workqueue

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateLimiter decides how long an item has to wait before it is tried again. Its
// methods may be called from any goroutine. client-go's rate limiters satisfy it.
type RateLimiter[T comparable] interface {
	// When counts a failure of the item, and says how long it has to wait.
	When(item T) time.Duration
	// Forget means that the item succeeded, or is given up.
	Forget(item T)
	// NumRequeues is how often the item failed since it was last forgotten.
	NumRequeues(item T) int
}

// DefaultLimiter has the numbers of client-go's default: 5 ms after an item's first
// failure, then doubled up to 1000 s, and for all items together 10 a second after the
// first 100.
func DefaultLimiter[T comparable]() RateLimiter[T] {
	return MaxOf[T]{
		&Exponential[T]{},
		Bucket[T]{rate.NewLimiter(10, 100)},
	}
}

// Exponential doubles an item's delay with each failure. The zero value works.
// Nothing may be changed once it is in use.
type Exponential[T comparable] struct {
	Base  time.Duration // after the first failure; 0 stands for 5 ms
	Limit time.Duration // the longest delay; 0 stands for 1000 s
	// Remember bounds how many items are remembered, and is 2 at least; 0 stands for
	// 1,000,000. The last Remember/2 items that failed wait exactly as long as they
	// should; one whose failure is longer ago may start again from Base. An item that
	// is two strings takes about 80 bytes, and the strings; a hundred thousand of them
	// 8 MB. The memory follows the number of items that are remembered: it is given back
	// as they are forgotten.
	Remember int

	mu      sync.Mutex // guards counter
	counter failureCounter[T]
}

// When implements RateLimiter.
func (e *Exponential[T]) When(item T) time.Duration {
	return backoff(or(e.Base, 5*time.Millisecond), or(e.Limit, 1000*time.Second), e.failed(item))
}

func (e *Exponential[T]) failed(item T) (before int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counter.generationSize = max(1, or(e.Remember, 1_000_000)/2)
	return e.counter.failed(item)
}

// Forget implements RateLimiter.
func (e *Exponential[T]) Forget(item T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counter.forget(item)
}

// NumRequeues implements RateLimiter.
func (e *Exponential[T]) NumRequeues(item T) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counter.count(item)
}

func or[N int | time.Duration](value, otherwise N) N {
	if value == 0 {
		return otherwise
	}
	return value
}

// Bucket limits all items together: a bucket of tokens that fills at a constant
// rate. It does not tell items apart, so there is nothing to forget. An item that fails when
// the bucket is empty waits for a token that is still to come.
type Bucket[T comparable] struct{ *rate.Limiter }

// When implements RateLimiter. If there will never be a token, it is the longest
// duration there is.
func (b Bucket[T]) When(T) time.Duration { return b.Reserve().Delay() }

// Forget implements RateLimiter.
func (Bucket[T]) Forget(T) {}

// NumRequeues implements RateLimiter.
func (Bucket[T]) NumRequeues(T) int { return 0 }

// MaxOf asks all its limiters, and takes the longest delay.
type MaxOf[T comparable] []RateLimiter[T]

// When implements RateLimiter.
func (m MaxOf[T]) When(item T) (longest time.Duration) {
	for _, limiter := range m {
		longest = max(longest, limiter.When(item))
	}
	return longest
}

// Forget implements RateLimiter.
func (m MaxOf[T]) Forget(item T) {
	for _, limiter := range m {
		limiter.Forget(item)
	}
}

// NumRequeues implements RateLimiter.
func (m MaxOf[T]) NumRequeues(item T) (most int) {
	for _, limiter := range m {
		most = max(most, limiter.NumRequeues(item))
	}
	return most
}

// Jitter makes a limiter's delays longer, each by a random part. Items that failed
// at the same moment, because the API server was away, then do not all come back
// at the same moment.
type Jitter[T comparable] struct {
	RateLimiter[T]
	// Fraction is how much longer a delay gets at most: with 0.2, a fifth.
	Fraction float64
	// Random is a number from 0 up to 1; nil stands for rand.Float64.
	Random func() float64
}

// When implements RateLimiter.
func (j Jitter[T]) When(item T) time.Duration {
	random := j.Random
	if random == nil {
		random = rand.Float64
	}
	delay := j.RateLimiter.When(item)
	if delay <= 0 {
		return delay
	}
	more := float64(delay) * j.Fraction * random()
	if more >= math.MaxInt64 { // it would be a negative Duration
		return math.MaxInt64
	}
	return later(delay, time.Duration(more))
}
