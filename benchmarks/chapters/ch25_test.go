package chapters

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// A user scales in mid-rollout, and each ReplicaSet gets its share.
func Benchmark25(b *testing.B) {
	compare(b, "shares of a Deployment that grows", "ReplicaSets", []int{2, 100}, peer{"mini", func(b *testing.B, n int) {
		d := deployment()
		sets := oldSets(d, n, 5)
		*d.Spec.Replicas = 20
		for b.Loop() {
			added := int32(0)
			for _, rs := range sets {
				added += mini.GetReplicaSetProportion(rs, d, 10, added)
			}
			if added == 0 || added > 10 {
				b.Fatal(added)
			}
		}
	}})
}
