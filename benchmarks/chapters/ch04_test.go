package chapters

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// After a relist, an informer looks for what has changed since. That's one of N Pods here, and still each has to be
// compared. client-go compares as well, on the other side of a queue that can't be run by itself.
func Benchmark04(b *testing.B) {
	compare(b, "a relist in which one Pod has changed", "Pods", []int{100, 100_000}, peer{"mini", func(b *testing.B, n int) {
		told := 0
		i := mini.NewInformer(nil, nil, func(change mini.Change) {
			if change.Old != nil {
				told++
			}
		})
		var before, after []mini.Object
		for _, pod := range pods(n) {
			before, after = append(before, pod), append(after, pod)
		}
		changed := pods(1)[0]
		changed.ResourceVersion = "900000"
		after[0] = changed
		i.Replace(before, "1")
		relists := 0
		for b.Loop() {
			before, after = after, before
			i.Replace(before, "1")
			relists++
		}
		if told < relists {
			b.Fatal(told, relists)
		}
	}})
}
