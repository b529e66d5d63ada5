package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

var owners = []string{"o0", "o1", "o2", "o3"}

func ask(owner string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: owner}}
}

// ownerOf is a map function: an object belongs to the owner that its label names.
func ownerOf(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{ask(object.GetLabels()["owner"])}
}

// state is what an owner's reconcile depends on.
type state struct {
	Children       map[string]string // the versions of objects in the cluster, by name
	Events, Errand int               // counters outside of it
}

// bureau has a controller that looks at owners, and remembers in which state it saw each last.
type bureau struct {
	*world
	events  chan event.GenericEvent
	errands chan string

	mu      sync.Mutex // guards the rest
	random  *rand.Rand
	outside map[string]state // without Children
	seen    map[string]state
	busy    map[string]bool
	looks   int
}

func (b *bureau) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	b.mu.Lock()
	if b.busy[request.Name] {
		b.t.Errorf("%s is reconciled twice at a time", request)
	}
	b.busy[request.Name] = true
	b.looks++
	now := b.outside[request.Name]
	now.Children = map[string]string{}
	fails, takes := b.random.IntN(5) == 0, time.Duration(b.random.IntN(3000))*time.Millisecond
	b.mu.Unlock()
	if len(reconcile.ReasonsFrom(ctx).Reasons()) == 0 {
		b.t.Errorf("nobody knows why %s is reconciled", request)
	}
	b.cache.mu.Lock()
	store := b.cache.informer.Store()
	b.cache.mu.Unlock()
	for child := range store.All() {
		if child.Labels["owner"] == request.Name {
			now.Children[child.Name] = child.ResourceVersion
		}
	}
	time.Sleep(takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[request.Name] = false
	if fails {
		return reconcile.Result{}, errors.New("by chance")
	}
	b.seen[request.Name] = now
	return reconcile.Result{}, nil
}

// run is a Func: it adds errands until its context ends.
func (b *bureau) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	explained := queue.(interface {
		AddWithOpts(workqueue.AddOpts, ...reconcile.Request)
	})
	go func() {
		for {
			select {
			case owner := <-b.errands:
				explained.AddWithOpts(workqueue.AddOpts{Reason: "an errand"}, ask(owner))
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// happen changes a state at random.
func (b *bureau) happen(random *rand.Rand) {
	owner := owners[random.IntN(len(owners))]
	b.mu.Lock()
	now := b.outside[owner]
	switch random.IntN(6) {
	case 0:
		now.Events++
		b.outside[owner] = now
		b.mu.Unlock()
		b.events <- event.GenericEvent{Object: configMap(owner)}
		return
	case 1:
		now.Errand++
		b.outside[owner] = now
		b.mu.Unlock()
		b.errands <- owner
		return
	}
	b.mu.Unlock()
	name := fmt.Sprintf("c%d", random.IntN(10))
	found, err := b.configMaps.Get(b.t.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		child := configMap(name)
		child.Labels = map[string]string{"owner": owner}
		_, err = b.configMaps.Create(b.t.Context(), child, metav1.CreateOptions{})
	case random.IntN(3) == 0:
		err = b.configMaps.Delete(b.t.Context(), name, metav1.DeleteOptions{})
	default: // it often changes hands, and then both owners need a look
		found.Labels["owner"] = owner
		found.Data = map[string]string{"value": fmt.Sprint(random.Uint64())}
		_, err = b.configMaps.Update(b.t.Context(), found, metav1.UpdateOptions{})
	}
	require.NoError(b.t, err)
}

// now is the state of each owner that has ever had something.
func (b *bureau) now() map[string]state {
	all := maps.Clone(b.outside)
	list, err := b.configMaps.List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	for _, owner := range owners {
		state := all[owner]
		state.Children = map[string]string{}
		for _, child := range list.Items {
			if child.Labels["owner"] == owner {
				state.Children[child.Name] = child.ResourceVersion
			}
		}
		all[owner] = state
	}
	return all
}

// A controller with a source of each sort reaches the right state whatever fails: in the end, every
// owner was seen as it is. Nothing is forgotten, and nothing is left behind.
func TestWhateverBreaksAControllerHasSeenEverythingAsItIs(t *testing.T) {
	seeds(t, 200, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		b := &bureau{
			world: newWorld(t, seed), events: make(chan event.GenericEvent), errands: make(chan string),
			random: rand.New(rand.NewPCG(seed, 1)), outside: map[string]state{}, seen: map[string]state{}, busy: map[string]bool{},
		}
		defer b.end()
		lift := b.disturb(random, seed)
		b.cache.refuse(until(time.Now().Add(time.Duration(random.IntN(30))*time.Second), notInstalled()))
		b.cache.resync = time.Duration(random.IntN(2)) * time.Minute

		log := &logtest.Collected{}
		c, err := controller.NewUnmanaged("bureau", controller.Options{
			Reconciler: reconcile.Func(b.reconcile), MaxConcurrentReconciles: 1 + random.IntN(3), SkipNameValidation: new(true),
			UsePriorityQueue: new(random.IntN(4) > 0), Logger: log.Logger(0), Recorder: trace.New(1),
			CacheSyncTimeout: time.Hour, // a bad connection may take longer than the default; its end is the subject of other tests
		})
		require.NoError(t, err)
		kind := func() SyncingSource {
			return Kind[client.Object](b.cache, &corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(ownerOf), predicate.ResourceVersionChangedPredicate{})
		}
		current := kind()
		require.NoError(t, c.Watch(current))
		require.NoError(t, c.Watch(Channel(b.events, &handler.EnqueueRequestForObject{}, WithBufferSize[client.Object, reconcile.Request](random.IntN(3)))))
		require.NoError(t, c.Watch(Func(b.run)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		for range random.IntN(5) {
			b.world.happenLabeled(random)
		}
		go func() { ended <- c.Start(ctx) }()

		for range 60 {
			b.happen(random)
			switch random.IntN(8) {
			case 0: // another source takes over
				next := kind()
				require.NoError(t, c.Watch(next))
				require.NoError(t, next.WaitForSync(t.Context()))
				synctest.Wait() // the old one may be about to tell of a deletion that the new one has not seen
				require.NoError(t, controller.Unwatch(c, current))
				current = next
			case 1, 2, 3:
				time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			case 4:
				b.server.CompactAll()
			}
		}
		lift()
		b.world.happenLabeled(random)
		time.Sleep(time.Hour)
		synctest.Wait()
		b.mu.Lock()
		now := b.now()
		for _, owner := range owners {
			seen, ok := b.seen[owner]
			if !ok && len(now[owner].Children) == 0 && now[owner].Events+now[owner].Errand == 0 {
				continue // it may never have had anything
			}
			require.Equal(t, now[owner], seen, "seed %d: owner %s", seed, owner)
		}
		require.NotContains(t, slices.Collect(maps.Values(b.busy)), true)
		b.mu.Unlock()
		stop()
		require.NoError(t, <-ended)
		require.Empty(t, log.With("left behind"))
	})
}

// happenLabeled makes an object that has an owner.
func (w *world) happenLabeled(random *rand.Rand) {
	child := configMap(fmt.Sprintf("extra%d", random.Uint64()))
	child.Labels = map[string]string{"owner": owners[random.IntN(len(owners))]}
	_, err := w.configMaps.Create(w.t.Context(), child, metav1.CreateOptions{})
	require.NoError(w.t, err)
}
