package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
)

// inParallel does the work for all n below count. It tries again what fails, for
// as long as the API server may be away.
func inParallel(t *testing.T, count int, work func(n int) error) {
	t.Helper()
	const writers = 16
	var working sync.WaitGroup
	for first := range writers {
		working.Go(func() {
			for n := first; n < count; n += writers {
				var last error
				err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
					func(context.Context) (bool, error) {
						last = work(n)
						return last == nil, nil
					})
				if err != nil {
					t.Error(err, last)
					return
				}
			}
		})
	}
	working.Wait()
}

// hasBeenToldOf reports whether a listener has heard of exactly these objects, in
// these states.
func (w *witness) hasBeenToldOf(truth []corev1.ConfigMap) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.told) == len(truth) && !slices.ContainsFunc(truth,
		func(object corev1.ConfigMap) bool {
			told := w.told[KeyOf(&object)]
			return told == nil || told.ResourceVersion != object.ResourceVersion
		})
}

// 5,000 objects; an API server that dies in the middle; and then a listener that was
// away while a tenth of them went, from a server and a database that have forgotten
// it. In the end the store is what the server has, every listener has heard a legal
// history that ends there, and of what vanished it was told that nobody saw its end.
func TestFiveThousandObjectsSurviveARestartAndACompaction(t *testing.T) {
	const count = 5000
	on, config := clustertest.Shared(t), clustertest.Config(t)
	config.QPS = -1
	w := newWorld(t, config, clustertest.Namespace(t))
	name := func(n int) string { return fmt.Sprintf("c%04d", n) }
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	current := func() []corev1.ConfigMap {
		list, err := w.configMaps.List(ctx, metav1.ListOptions{LabelSelector: "test"})
		require.NoError(t, err)
		return list.Items
	}

	var expired expirations
	from := &gated{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
	informer := NewInformer(ListerWatcher[*corev1.ConfigMap](from), InformerOptions[*corev1.ConfigMap]{
		Transform: DropManagedFields[*corev1.ConfigMap],
		Reflector: ReflectorOptions{Backoff: Backoff{Most: 2 * time.Second}, GiveUp: expired.note},
	})
	var witnesses []*witness
	var registrations []*Registration
	join := func(name string) {
		w := &witness{t: t, name: name, pause: func() time.Duration { return 0 },
			told: map[Key]*corev1.ConfigMap{}}
		r, err := informer.AddHandler(w, HandlerOptions{Name: name})
		require.NoError(t, err)
		witnesses, registrations = append(witnesses, w), append(registrations, r)
	}
	join("early")
	var running sync.WaitGroup
	running.Go(func() { _ = informer.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	// The API server starts again while the objects are made.
	var restarted sync.WaitGroup
	restart := sync.OnceFunc(func() {
		restarted.Go(func() {
			if err := on.Restart(ctx, cluster.APIServer, 0); err != nil {
				t.Error(err)
			}
		})
	})
	inParallel(t, count, func(n int) error {
		if n == count/2 {
			restart()
		}
		_, err := w.configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name(n),
			Labels: map[string]string{"test": "yes"}}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // made before the answer was lost
		}
		return err
	})
	restarted.Wait()
	require.NoError(t, informer.WaitForSync(ctx))
	join("late")
	told := func(truth []corev1.ConfigMap) {
		t.Helper()
		require.Len(t, truth, informer.Store().Len())
		for i, witness := range witnesses {
			eventually(t, "what "+witness.name+" is told must become what is there",
				func() bool { return witness.hasBeenToldOf(truth) })
			<-registrations[i].Synced()
		}
	}
	made := w.create(t, "made", nil)
	require.NoError(t, informer.WaitFor(ctx, KeyOf(made), made.ResourceVersion))
	told(current())

	// Every tenth goes behind the informer's back, and all history with it.
	from.set(true)
	inParallel(t, count/10, func(n int) error {
		if err := w.configMaps.Delete(ctx, name(10*n),
			metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	_, err := on.Compact(ctx)
	require.NoError(t, err)
	require.NoError(t, on.Restart(ctx, cluster.APIServer, time.Second))
	before := expired.Load()
	from.set(false)
	last := w.create(t, "last", nil)
	require.NoError(t, informer.WaitFor(ctx, KeyOf(last), last.ResourceVersion), "%+v",
		informer.Health())
	require.Greater(t, expired.Load(), before,
		"the server must have said that the history is gone: %+v", informer.Health())
	truth := current()
	require.Len(t, truth, count-count/10+2)
	told(truth)
	for _, witness := range witnesses {
		require.Equal(t, count/10, witness.unseen, "%s: what vanished must be told as a tombstone",
			witness.name)
	}
}

// An operator is uninstalled under the controllers that watch its kind. They must
// hear that its objects are gone, find out why nothing more comes, and go on when it
// is installed again: without a new process.
func TestAnInformerOutlivesItsKind(t *testing.T) {
	kind := newWidgets(t, "informer.example.com")
	kind.install()
	kind.create("first")
	kind.create("second")
	informer := NewInformer(kind.listWatch(),
		InformerOptions[*metav1.PartialObjectMetadata]{Reflector: ReflectorOptions{Backoff: Backoff{Most: time.Second}}})
	var mu sync.Mutex // guards told
	told := map[string]int{}
	count := func(what string) { mu.Lock(); told[what]++; mu.Unlock() }
	_, err := informer.AddHandler(HandlerFuncs[*metav1.PartialObjectMetadata]{
		Add:    func(widget *metav1.PartialObjectMetadata, _ bool) { count("add " + widget.Name) },
		Delete: func(widget *metav1.PartialObjectMetadata, _ bool) { count("delete " + widget.Name) },
	}, HandlerOptions{})
	require.NoError(t, err)
	hasHeard := func(want ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		return !slices.ContainsFunc(want, func(what string) bool { return told[what] != 1 })
	}
	hears := func(want ...string) {
		t.Helper()
		eventually(t, fmt.Sprint("the listener must hear ", want), func() bool { return hasHeard(want...) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // Run's result
	go func() { done <- informer.Run(ctx) }()
	hears("add first", "add second")

	kind.uninstall(func() bool { return hasHeard("delete first", "delete second") })
	require.Zero(t, informer.Store().Len())
	kind.untilUnknown(informer.Health)

	kind.install()
	kind.create("third")
	hears("add third")
	require.Equal(t, 1, informer.Store().Len())
	cancel()
	require.NoError(t, <-done)
	require.Len(t, told, 5, "and nothing else: %v", told)
	kind.uninstall(nil)
}
