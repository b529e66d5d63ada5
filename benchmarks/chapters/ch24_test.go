package chapters

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// The arithmetic of one step of a rolling update: how many Pods may the new ReplicaSet have now?
func Benchmark24(b *testing.B) {
	compare(b, "one step of a rolling update", "old-ReplicaSets", []int{1, 100}, peer{"mini", func(b *testing.B, n int) {
		d := deployment()
		sets := oldSets(d, n+1, 0)
		fresh := sets[n]
		for b.Loop() {
			if got := mini.NewRSNewReplicas(d, sets, fresh); got != *d.Spec.Replicas {
				b.Fatal(got)
			}
		}
	}})
}
