package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// A manager's parts start and stop in an order that nobody has planned. Whatever they call meanwhile returns, and
// nothing is left of it.
func TestACacheCanBeUsedInAnyOrder(t *testing.T) {
	seeds := race.Fewer(100)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		options := cache.Options{}
		if seed%2 == 1 {
			options = inNamespaces("default", "shop")
		}
		inWorld(t, options, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(uint64(seed), 12))
			w.configMaps("default", "a")
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "the-cache"}, Delay: time.Second, Probability: 0.5, Seed: uint64(seed)})
			ctx, stop := context.WithCancel(t.Context())
			var users sync.WaitGroup
			for user := range 8 {
				users.Go(func() { w.useAtRandom(ctx, rand.New(rand.NewPCG(uint64(seed), uint64(user))), user) })
			}
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			ended := make(chan error, 1)
			go func() { ended <- w.Start(ctx) }()
			time.Sleep(time.Duration(random.IntN(10000)) * time.Millisecond)
			stop()
			users.Wait()
			require.NoError(t, <-ended)
			_, err := w.GetInformer(t.Context(), &corev1.Secret{})
			require.ErrorContains(t, err, "the cache has stopped")
		})
		if t.Failed() {
			t.Logf("seed %d", seed)
			return
		}
	}
}

// useAtRandom makes some calls. What they return is up to the order; that they return is not.
func (w *world) useAtRandom(ctx context.Context, random *rand.Rand, user int) {
	for n := range 30 {
		obj := []client.Object{&corev1.ConfigMap{}, freeOf(configMapKind), metadataOf(configMapKind)}[random.IntN(3)]
		call, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(3000))*time.Millisecond)
		switch random.IntN(9) {
		case 0:
			_ = w.RemoveInformer(call, obj)
		case 1:
			_ = w.IndexField(call, obj, fmt.Sprintf("field-%d-%d", user, n), func(client.Object) []string { return []string{"x"} })
		case 2:
			if from, err := w.GetInformer(call, obj); err == nil {
				handler, err := from.AddEventHandler(newHearing())
				if err == nil && random.IntN(2) == 0 {
					_ = from.RemoveEventHandler(handler)
				}
			}
		case 3:
			if from, err := w.GetInformer(call, obj, cache.BlockUntilSynced(false)); err == nil {
				_ = from.HasSyncedChecker()
				_ = from.AddIndexers(nil)
			}
		case 4:
			_ = w.WaitForCacheSync(call)
		case 5:
			_ = w.waiter().WaitFor(call, obj, key("default", "a"), "999999")
		case 6:
			_ = w.waiter().WaitForEnd(call, obj, key("default", "a"), hasUID("other"))
		case 7:
			_ = w.List(call, &corev1.ConfigMapList{}, client.MatchingFields{"metadata.name": "a"})
		default:
			_ = w.Get(call, key("default", "a"), obj)
		}
		cancel()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
}
