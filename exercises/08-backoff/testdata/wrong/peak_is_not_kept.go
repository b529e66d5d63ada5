// Bug: nobody notes how many there were.

package workqueue

import "time"

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}

type failures[T comparable] struct {
	young, old map[T]int
	half       int
	peak       int
}

func (f *failures[T]) failed(item T) (before int) {
	before, known := f.young[item]
	if !known {
		before = f.old[item]
		if f.half > 0 && len(f.young) >= f.half {
			f.young, f.old = nil, f.young
		}
		if f.young == nil {
			f.young = map[T]int{}
		}
	}
	f.young[item] = before + 1
	return before
}

func (f *failures[T]) count(item T) int {
	if count, known := f.young[item]; known {
		return count
	}
	return f.old[item]
}

func (f *failures[T]) forget(item T) {
	delete(f.young, item)
	delete(f.old, item)
	if f.peak > keepAtMost && len(f.young)+len(f.old) == 0 {
		*f = failures[T]{half: f.half}
	}
}
