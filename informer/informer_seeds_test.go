package informer

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
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
)

var informerSeed = flag.Int64("informer.seed", -1, "play only this seed of TestWhateverBreaks")

// witness is a handler that checks that what it is told is a legal history.
type witness struct {
	t     *testing.T
	seed  uint64
	name  string
	pause func() time.Duration

	mu     sync.Mutex // guards what follows
	told   map[Key]*corev1.ConfigMap
	unseen int // ends that nobody saw
}

func (w *witness) check(ok bool, what string, object *corev1.ConfigMap) {
	if !ok {
		w.t.Errorf("seed %d, listener %s: %s: %s at %s", w.seed, w.name, what, object.Name,
			object.ResourceVersion)
	}
}

func version(object *corev1.ConfigMap) int {
	n,
		_ := strconv.Atoi(object.ResourceVersion)
	return n
}

func (w *witness) OnAdd(object *corev1.ConfigMap, _ bool) {
	time.Sleep(w.pause())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.check(w.told[KeyOf(object)] == nil, "added twice", object)
	w.told[KeyOf(object)] = object
}

func (w *witness) OnUpdate(old, object *corev1.ConfigMap) {
	time.Sleep(w.pause())
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.told[KeyOf(object)]
	w.check(known != nil, "updated before it was added", object)
	w.check(known == old, "old is not what was told before", object)
	if known != nil {
		w.check(known.UID == object.UID, "became another object", object)
		w.check(version(known) < version(object) || known == object, "went back in time", object)
	}
	w.told[KeyOf(object)] = object
}

func (w *witness) OnDelete(object *corev1.ConfigMap, finalStateUnknown bool) {
	time.Sleep(w.pause())
	w.mu.Lock()
	defer w.mu.Unlock()
	if finalStateUnknown {
		w.unseen++
	}
	known := w.told[KeyOf(object)]
	w.check(known != nil, "deleted, and it was not there", object)
	if known != nil {
		w.check(known.UID == object.UID, "the end of another object", object)
		w.check(version(known) <= version(object), "went back in time", object)
	}
	delete(w.told, KeyOf(object))
}

// someFaults are what may happen to an informer's requests.
func someFaults(random *rand.Rand, seed uint64) []fakeapi.Fault {
	all := []fakeapi.Fault{
		{Match: fakeapi.Match{Verb: "watch"}, CutAfterEvents: 1 + random.IntN(5)},
		{Match: fakeapi.Match{Verb: "watch"}, CutAfter: time.Duration(1+random.IntN(20)) * time.Second},
		{Match: fakeapi.Match{Verb: "watch"},
			DelayEvents: time.Duration(random.IntN(2000)) * time.Millisecond},
		{Probability: 0.3, Status: fakeapi.InternalError()},
		{Probability: 0.3, Status: fakeapi.TooManyRequests(1)},
		{Probability: 0.3, Status: fakeapi.Unavailable()},
		{Probability: 0.2, Status: fakeapi.Expired()},
		{Probability: 0.3, Delay: time.Duration(random.IntN(5000)) * time.Millisecond},
		{Probability: 0.2, LoseResponse: true},
		{Match: fakeapi.Match{Verb: "list"}, Probability: 0.5, Stale: uint64(1 + random.IntN(10))},
		{NoWatchList: true},
		{NoInitialEventsEnd: true},
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	faults := all[:1+random.IntN(4)]
	for i := range faults {
		faults[i].Seed, faults[i].Match.UserAgent = seed, "the-reader"
	}
	return faults
}

// Whatever is cut, delayed, refused, forgotten or stale: in the end the store is
// what the server has, every listener has heard a legal history that ends there,
// and nothing is left behind. A bubble that ends with a goroutine left fails.
func TestWhateverBreaksTheViewsEndWhereTheServerIs(t *testing.T) {
	for seed := range race.Seeds(300, *informerSeed) {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playInformer(t, seed) })
		}) {
			t.Logf("again: go test -run TestWhateverBreaks ./informer -informer.seed=%d", seed)
			return
		}
	}
}

func playInformer(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0x73656564))
	server := fakeapi.New(fakeapi.Options{Seed: seed, NoManagedFields: true})
	defer server.Close()
	writer := newWorld(t, server.Config(), metav1.NamespaceDefault)
	config := rest.CopyConfig(server.Config())
	config.UserAgent = "the-reader"
	var lift []func()
	for _, fault := range someFaults(random, seed) {
		lift = append(lift, server.Inject(fault))
	}
	from, err := NewListWatch[*corev1.ConfigMap](config, configMapResource,
		ListWatchOptions{Namespace: metav1.NamespaceDefault, LabelSelector: "test"})
	require.NoError(t, err)
	informer := NewInformer(ListerWatcher[*corev1.ConfigMap](from),
		InformerOptions[*corev1.ConfigMap]{Transform: DropManagedFields[*corev1.ConfigMap]})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, informer.Run(ctx)) })

	var witnesses []*witness
	var registrations []*Registration
	join := func(name string, slow time.Duration) {
		pauses := rand.New(rand.NewPCG(seed, uint64(len(witnesses))))
		w := &witness{t: t, seed: seed, name: name, told: map[Key]*corev1.ConfigMap{},
			pause: func() time.Duration { return time.Duration(pauses.Int64N(int64(slow) + 1)) }}
		r, err := informer.AddHandler(w, HandlerOptions{Name: name, Resync: slow * 7,
			Coalesce: name == "coalescing"})
		require.NoError(t, err)
		witnesses, registrations = append(witnesses, w), append(registrations, r)
	}
	join("early", 0)
	join("slow", 3*time.Second)
	join("coalescing", 2*time.Second)
	for step := range 60 {
		name := fmt.Sprintf("c%d", random.IntN(8))
		_, err := writer.configMaps.Get(ctx, name, metav1.GetOptions{})
		switch there := err == nil; {
		case !there && apierrors.IsNotFound(err):
			writer.create(t, name, nil)
		case random.IntN(3) == 0:
			writer.delete(t, name)
		default:
			writer.change(t, name, step)
		}
		if random.IntN(3) == 0 {
			time.Sleep(time.Duration(random.IntN(8000)) * time.Millisecond)
		}
		switch {
		case step == 30:
			join("late", 500*time.Millisecond)
		case step == 40:
			registrations[1].Remove()
		case random.IntN(15) == 0:
			server.CompactAll()
		}
	}
	for _, f := range lift {
		f()
	}
	last := writer.create(t, "last", nil)
	patience, enough := context.WithTimeout(ctx, time.Hour)
	defer enough()
	require.NoError(t, informer.WaitFor(patience, KeyOf(last), last.ResourceVersion), "seed %d: %+v",
		seed, informer.Health())
	time.Sleep(10 * time.Minute) // for the handlers to catch up, and a watch with a delay to deliver
	synctest.Wait()

	list, err := writer.configMaps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	truth := map[Key]string{}
	for _, item := range list.Items {
		if item.Labels["test"] != "" {
			truth[KeyOf(&item)] = item.ResourceVersion
		}
	}
	stored := map[Key]string{}
	for object := range informer.Store().All() {
		stored[KeyOf(object)] = object.ResourceVersion
	}
	require.Equal(t, truth, stored, "seed %d: the store", seed)
	for i, w := range witnesses {
		if w.name == "slow" {
			continue // it was removed on its way
		}
		told := map[Key]string{}
		w.mu.Lock()
		for key, object := range w.told {
			told[key] = object.ResourceVersion
		}
		w.mu.Unlock()
		require.Equal(t, truth, told, "seed %d: what %s was told", seed, w.name)
		require.True(t, registrations[i].HasSynced())
		for tries := 0; tries < 1000 && registrations[i].Backlog().Pending > 0; tries++ {
			time.Sleep(100 * time.Millisecond) // a resync may be under way
		}
		require.Zero(t, registrations[i].Backlog().Pending)
	}
	cancel()
	running.Wait()
}
