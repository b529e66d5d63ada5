package chapters

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/benchmarks/manager"
)

// What a controller adds to a reconciler that does nothing: one request by itself, and 1,000 at once, of which one worker
// does one after the other. All have the plain queue, and one operation is one request.
func Benchmark08(b *testing.B) {
	names := map[string]string{"mini": "mini", "ours": "library", "controller-runtime": "controller-runtime"}
	byName := map[string]manager.Peer{}
	for _, p := range manager.Kinds[1].Peers {
		byName[p.Name] = p
	}
	var peers []peer
	for _, name := range []string{"mini", "ours", "controller-runtime"} {
		peers = append(peers, peer{names[name], func(b *testing.B, n int) {
			requests := manager.Names(n)
			var round sync.WaitGroup
			c := byName[name].Start(nil, func(context.Context, types.NamespacedName) { round.Done() })
			for left := b.N; left > 0; left -= n {
				some := requests[:min(left, n)]
				round.Add(len(some))
				for _, name := range some {
					c.Add(name)
				}
				round.Wait()
			}
			if err := c.Stop(); err != nil {
				b.Fatal(err)
			}
		}})
	}
	compare(b, "a reconcile that does nothing", "waiting", []int{1, 1_000}, peers...)
}
