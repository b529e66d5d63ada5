package manager

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// A side that left some of the work out, or did it twice, could not be compared with the other.
func TestBothSidesReconcileEveryRequestOnce(t *testing.T) {
	for _, kind := range Kinds {
		for _, peer := range kind.Peers {
			t.Run(kind.Name+"/"+peer.Name, func(t *testing.T) {
				names := Names(500)
				there, later := names[:300], names[300:]
				var mu sync.Mutex // guards times
				times := map[types.NamespacedName]int{}
				var left sync.WaitGroup
				left.Add(len(names))
				c := peer.Start(there, func(_ context.Context, name types.NamespacedName) {
					mu.Lock()
					defer mu.Unlock()
					if times[name]++; times[name] == 1 {
						left.Done()
					}
				})
				for _, name := range later {
					c.Add(name)
				}
				left.Wait()
				require.NoError(t, c.Stop())
				for _, name := range names {
					require.Equal(t, 1, times[name], "%s was reconciled more or less than once", name)
				}
				require.Len(t, times, len(names))
			})
		}
	}
}

// The benchmark of a steady pace must not lose a request, or it would wait forever.
func TestASteadyPaceMeasuresEveryRequest(t *testing.T) {
	for _, kind := range Kinds {
		for _, peer := range kind.Peers {
			t.Run(kind.Name+"/"+peer.Name, func(t *testing.T) {
				require.Len(t, latenciesOf(peer, Names(50), time.Millisecond), 50)
			})
		}
	}
}
