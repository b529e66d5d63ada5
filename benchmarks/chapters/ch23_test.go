package chapters

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// Which of its ReplicaSets has the Deployment's template? None, so that all of them have to be compared: that's what a user
// pays who keeps a long history.
func Benchmark23(b *testing.B) {
	compare(b, "the ReplicaSet with the Deployment's template", "old-ReplicaSets", []int{10, 100}, peer{"mini", func(b *testing.B, n int) {
		d := deployment()
		sets := oldSets(d, n, 0)
		for b.Loop() {
			if found, old := mini.FindNewReplicaSet(d, sets); found != nil || len(old) != n {
				b.Fatal(found, len(old))
			}
		}
	}})
}
