// Package race tells tests whether the race detector is on. It makes them many times slower, and a simulation of one
// process shows it in a few seeds whatever it can find; the other seeds are about what happens, and not about the
// goroutines.
package race

import "iter"

// Fewer is how many of this many seeds to play: a third under the race detector.
func Fewer[N ~int | ~uint64](seeds N) N {
	if Enabled {
		return (seeds + 2) / 3
	}
	return seeds
}

// Seeds are the seeds to play, of n; a test that is played again plays only one, if that is not negative.
func Seeds(n uint64, only int64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if only >= 0 {
			yield(uint64(only))
			return
		}
		for seed := range Fewer(n) {
			if !yield(seed) {
				return
			}
		}
	}
}
