package workqueue

import "testing"

// BenchmarkPriority is BenchmarkQueue with the order of a priority queue.
func BenchmarkPriority(b *testing.B) { cycle(b, &NewPriority(PriorityOptions[int]{}).Queue) }

// BenchmarkPriorityGroups is the same with groups.
func BenchmarkPriorityGroups(b *testing.B) {
	names := []string{"a", "b", "c"}
	cycle(b, &NewPriority(PriorityOptions[int]{Group: func(item int) string { return names[item%3] }}).Queue)
}
