package workqueue

import "time"

// backoff is the delay after a number of failures: base, twice base, four times
// base, and so on, but never more than limit.
func backoff(base, limit time.Duration, failures int) time.Duration {
	return 0 // TODO: base, twice base, four times base, ... up to limit
}

// failures counts how often items failed. It remembers a limited number of them: the
// last half that failed for certain, and at most as many more. If more than that half
// fail in turn, some are forgotten before they fail again; if more than the limit, all
// are, and none gets beyond the first step. So the limit has to be far above what fails.
//
// The limit is there for those who never forget an item themselves: a
// controller that does not call Forget for objects that were deleted would
// otherwise remember each of them until the process ends, as it does with
// client-go.
//
// It has two generations. A failure puts the item into the young one. When that
// is full, it becomes the old one, and who was in the old one and has not failed
// again is forgotten. A list in the order of the last failures would be exact, but
// would cost a link for each item, and a move for each failure.
type failures[T comparable] struct {
	young, old map[T]int
	half       int // how many fit into a generation; 0 is no limit
	peak       int // the most that were in a generation at once
}

// failed counts a failure, and returns how many there were before.
func (f *failures[T]) failed(item T) (before int) {
	return 0 // TODO: in which generation is it? Is the young one full?
}

// count is how often an item failed since it was last forgotten.
func (f *failures[T]) count(item T) int {
	if count, known := f.young[item]; known {
		return count
	}
	return f.old[item]
}

// forget means that the item succeeded, or is given up.
func (f *failures[T]) forget(item T) {
	// TODO: the next failure is the first
	if f.peak > keepAtMost && len(f.young)+len(f.old) == 0 {
		*f = failures[T]{half: f.half} // gives the memory back
	}
}
