package workqueue

import "time"

// backoff is the delay after a number of failures: base, twice base, four times
// base, and so on, but never more than limit.
//
// client-go raises 2 to a power in floating point and then checks whether the result
// fits. A shift of integers that is checked beforehand is exact, and shorter.
func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}

// failureCounter counts how often items failed. It remembers a limited number of items:
// certainly those that failed last, up to half of the limit, and at most as many others. If
// more than half of the limit fail in turn, some are forgotten before they fail again; if
// more than the limit, all are, and none gets beyond the first step. So the limit has to be
// far above the number of items that fail.
//
// It is there for callers that never forget an item: a controller that does not call
// Forget for objects that were deleted would otherwise remember each of them until the
// process ends, as it does with client-go.
//
// It has two generations. A failure puts the item into the young one. When that
// is full, it becomes the old one, and what was in the old one and has not failed
// again is forgotten. A list in the order of the last failures would be exact, but
// would cost a link for each item, and a move for each failure.
type failureCounter[T comparable] struct {
	young, old     countTable[T]
	generationSize int // how many items fit into a generation; 0 is no limit
}

// failed counts a failure, and returns how many there were before.
func (f *failureCounter[T]) failed(item T) (before int) {
	before, known := f.young.get(item)
	if !known {
		before, _ = f.old.get(item)
		if f.generationSize > 0 && f.young.len() >= f.generationSize {
			f.young, f.old = countTable[T]{}, f.young
		}
	}
	f.young.set(item, before+1)
	return before
}

// count returns how often an item failed since it was last forgotten.
func (f *failureCounter[T]) count(item T) int {
	if count, known := f.young.get(item); known {
		return count
	}
	count, _ := f.old.get(item)
	return count
}

// forget means that the item succeeded, or is given up.
func (f *failureCounter[T]) forget(item T) {
	f.young.remove(item)
	f.old.remove(item)
}
