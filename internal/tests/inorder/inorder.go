// Package inorder walks through maps in the order of their keys. A test that
// walks through its cases in a random order fails at another case each time, so
// a learner is told something else on every run.
package inorder

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Map yields what the map holds, sorted by key.
func Map[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
