package source

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

var sourceSeed = flag.Int64("source.seed", -1, "play only this seed of the tests with seeds")

// seeds plays a test with many seeds, each in a bubble of its own.
func seeds(t *testing.T, n uint64, play func(t *testing.T, seed uint64)) {
	for seed := range race.Seeds(n, *sourceSeed) {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		}) {
			t.Logf("again: go test -run %s ./manager/source -source.seed=%d", t.Name(), seed)
			return
		}
	}
}

// model is a handler that builds the world from what it is told: objects and their versions.
type model struct {
	t     *testing.T
	seed  uint64
	pause func() time.Duration

	mu    sync.Mutex // guards the rest
	known map[client.ObjectKey]int
	over  bool // it must not be called any more
}

func (m *model) told(object client.Object, change func(version int, key client.ObjectKey)) {
	time.Sleep(m.pause())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		m.t.Errorf("seed %d: told about %s after the stop", m.seed, object.GetName())
	}
	version, err := strconv.Atoi(object.GetResourceVersion())
	if err != nil {
		m.t.Error(err)
	}
	change(version, client.ObjectKeyFromObject(object))
}

func (m *model) Create(_ context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.told(e.Object, func(version int, key client.ObjectKey) { m.known[key] = version })
}

func (m *model) Update(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.told(e.ObjectNew, func(version int, key client.ObjectKey) {
		if version < m.known[key] {
			m.t.Errorf("seed %d: %s goes back in time", m.seed, key)
		}
		m.known[key] = version
	})
}

func (m *model) Delete(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.told(e.Object, func(_ int, key client.ObjectKey) { delete(m.known, key) })
}

func (m *model) Generic(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
}

// disturb makes some of the cache's requests fail, at random. lift ends that.
func (w *world) disturb(random *rand.Rand, seed uint64) (lift func()) {
	all := []fakeapi.Fault{
		{Match: fakeapi.Match{Verb: "watch"}, CutAfterEvents: 1 + random.IntN(5)},
		{Match: fakeapi.Match{Verb: "watch"}, CutAfter: time.Duration(1+random.IntN(20)) * time.Second, CutAbruptly: true},
		{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Duration(random.IntN(2000)) * time.Millisecond},
		{Probability: 0.3, Status: fakeapi.InternalError()},
		{Probability: 0.3, Status: fakeapi.TooManyRequests(1)},
		{Probability: 0.2, Status: fakeapi.Expired()},
		{Probability: 0.3, Delay: time.Duration(random.IntN(5000)) * time.Millisecond},
		{Match: fakeapi.Match{Verb: "list"}, Probability: 0.5, Stale: uint64(1 + random.IntN(10))},
		{NoWatchList: true},
	}
	var lifts []func()
	for range random.IntN(4) {
		fault := all[random.IntN(len(all))]
		fault.Seed, fault.Match.UserAgent = seed, w.cache.config.UserAgent
		lifts = append(lifts, w.server.Inject(fault))
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// happen makes, changes or deletes an object at random.
func (w *world) happen(random *rand.Rand, step int) {
	name := fmt.Sprintf("c%d", random.IntN(8))
	_, err := w.configMaps.Get(w.t.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		w.create(name)
	case random.IntN(3) == 0:
		w.delete(name)
	default:
		w.change(name, fmt.Sprint(step))
	}
}

// there returns the objects of the server, and their versions.
func (w *world) there() map[client.ObjectKey]int {
	list, err := w.configMaps.List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	versions := map[client.ObjectKey]int{}
	for _, item := range list.Items {
		versions[client.ObjectKeyFromObject(&item)], err = strconv.Atoi(item.ResourceVersion)
		require.NoError(w.t, err)
	}
	return versions
}

// Sources come and go while objects change and requests fail. In the end, each one that is left has
// been told what the server has, and one that was stopped was told nothing more.
func TestWhateverBreaksASourceTellsItsHandlerWhatThereIs(t *testing.T) {
	seeds(t, 200, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0x736f75726365))
		w := newWorld(t, seed)
		defer w.end()
		w.cache.resync = time.Duration(random.IntN(2)) * 20 * time.Second
		w.cache.refuse(func() error {
			if random.IntN(3) == 0 { // guarded by the cache's mutex
				return notInstalled()
			}
			return nil
		})
		faults := rand.New(rand.NewPCG(seed, 1)) // the cache has the other one
		lift := w.disturb(faults, seed)
		steps := rand.New(rand.NewPCG(seed, 2))

		type live struct {
			model  *model
			source SyncingSource
			stop   func()
		}
		var all []live
		begin := func() {
			pauses := rand.New(rand.NewPCG(seed, steps.Uint64()))
			longest := steps.Int64N(int64(time.Second))
			m := &model{t: t, seed: seed, known: map[client.ObjectKey]int{}, pause: func() time.Duration { return time.Duration(pauses.Int64N(longest + 1)) }}
			var s SyncingSource
			if steps.IntN(4) == 0 {
				w.cache.refuse(nil)
				s = &Informer{Informer: w.informer(), Handler: m}
			} else {
				s = Kind[client.Object](w.cache, &corev1.ConfigMap{}, m)
			}
			all = append(all, live{m, s, starts(t, s, newQueue())})
		}
		end := func() {
			if len(all) == 0 {
				return
			}
			i := steps.IntN(len(all))
			all[i].stop()
			all[i].model.mu.Lock()
			all[i].model.over = true
			all[i].model.mu.Unlock()
			all = append(all[:i], all[i+1:]...)
		}
		begin()
		for step := range 60 {
			w.happen(steps, step)
			switch steps.IntN(10) {
			case 0, 1:
				begin()
			case 2:
				end()
			case 3:
				w.server.CompactAll()
			case 4, 5, 6:
				time.Sleep(time.Duration(steps.IntN(8000)) * time.Millisecond)
			}
		}
		begin()
		lift()
		w.cache.refuse(nil)
		w.create("last") // a watch that was served stale catches up with the next event
		time.Sleep(10 * time.Minute)
		there := w.there()
		for _, live := range all {
			require.NoError(t, live.source.WaitForSync(t.Context()))
			live.model.mu.Lock()
			require.Equal(t, there, live.model.known, "seed %d", seed)
			live.model.mu.Unlock()
		}
		for len(all) > 0 {
			end()
		}
		time.Sleep(time.Minute)
	})
}
