package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

const liveSeeds = 150

var (
	liveNamespaces = []string{"default", "shop", "bank"}
	liveNames      = []string{"a", "b", "c", "d", "e"}
	liveColors     = []string{"red", "blue"}
	liveSizes      = []string{"1", "2"}
)

// A controller acts on what the cache says. If that were not what the server has, once the events are in, it
// would act on something else, and nothing would ever correct it.
func TestOnceCaughtUpACacheSaysWhatTheServerSays(t *testing.T) {
	seeds := race.Fewer(uint64(liveSeeds))
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		inServer(t, func(t *testing.T, server *fakeapi.Server) {
			random := rand.New(rand.NewPCG(seed, 12))
			options, visible := liveOptions(random)
			w := newWorld(t, server, options)
			w.namespaces("shop", "bank")
			w.write(random, 10)
			if random.IntN(2) == 0 { // an index may be there before the informer, or come later
				w.indexLive()
			}
			w.begin()
			defer w.end()
			lift := w.disturb(seed, random)
			for _, form := range liveForms[random.IntN(3):] { // the others come later, and metadata may find a watch to share
				require.NoError(t, w.List(t.Context(), form.list()), "seed %d", seed)
			}
			var writers sync.WaitGroup
			for i := range 3 {
				own := rand.New(rand.NewPCG(seed, uint64(100+i)))
				writers.Go(func() { w.write(own, 20) })
			}
			w.watchReads(random, seed, visible)
			writers.Wait()
			lift()
			w.configMaps("default", "the-last-write") // an event for all who lost one
			time.Sleep(10 * time.Minute)
			if !w.hasIndex {
				w.indexLive()
			}
			w.compare(seed, visible)
		})
		if t.Failed() {
			return
		}
	}
}

// liveForm is a way to hold ConfigMaps.
type liveForm struct {
	one  func() client.Object
	list func() client.ObjectList
}

var liveForms = []liveForm{
	{func() client.Object { return metadataOf(configMapKind) }, func() client.ObjectList { return metadataListOf(configMapKind) }},
	{func() client.Object { return freeOf(configMapKind) }, func() client.ObjectList { return freeListOf(configMapKind) }},
	{func() client.Object { return &corev1.ConfigMap{} }, func() client.ObjectList { return &corev1.ConfigMapList{} }},
}

// liveOptions are options of a cache, and the namespaces that it has.
func liveOptions(random *rand.Rand) (cache.Options, []string) {
	switch random.IntN(4) {
	case 0:
		return inNamespaces("default", "bank"), []string{"default", "bank"}
	case 1:
		return inNamespaces("shop", cache.AllNamespaces), liveNamespaces
	case 2:
		return cache.Options{DefaultEnableWatchBookmarks: new(false)}, liveNamespaces
	}
	return cache.Options{}, liveNamespaces
}

// disturb lets the cache's watches break and its requests fail. lift ends that.
func (w *world) disturb(seed uint64, random *rand.Rand) (lift func()) {
	mine := fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}
	watches := mine
	watches.Verb = "watch"
	var lifts []func()
	for _, fault := range []fakeapi.Fault{
		{Match: watches, CutAfterEvents: 1 + random.IntN(8), CutAbruptly: random.IntN(2) == 0, Probability: 0.7, Seed: seed},
		{Match: watches, DelayEvents: time.Duration(random.IntN(300)) * time.Millisecond, Probability: 0.5, Seed: seed},
		{Match: watches, NoInitialEventsEnd: true, Probability: 0.1, Seed: seed},
		{Match: mine, Status: fakeapi.Unavailable(), Probability: 0.2, Seed: seed},
		{Match: watches, Status: fakeapi.Expired(), Probability: 0.1, Seed: seed},
	} {
		lifts = append(lifts, w.server.Inject(fault))
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// write makes, changes and deletes objects at random, with pauses.
func (w *world) write(random *rand.Rand, times int) {
	for range times {
		namespace, name := liveNamespaces[random.IntN(3)], liveNames[random.IntN(5)]
		of := w.live.CoreV1().ConfigMaps(namespace)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"color": liveColors[random.IntN(2)]}},
			Data:       map[string]string{"size": liveSizes[random.IntN(2)], "at": fmt.Sprint(random.IntN(1000))},
		}
		var err error
		switch random.IntN(4) {
		case 0, 1:
			_, err = of.Create(w.t.Context(), object, metav1.CreateOptions{})
		case 2, 3:
			_, err = of.Update(w.t.Context(), object, metav1.UpdateOptions{})
		case 4:
			err = of.Delete(w.t.Context(), name, metav1.DeleteOptions{})
			if random.IntN(4) == 0 {
				w.server.CompactAll()
			}
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			require.NoError(w.t, err)
		}
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
	}
}

func (w *world) indexLive() {
	w.hasIndex = true
	for _, form := range liveForms {
		require.NoError(w.t, w.IndexField(w.t.Context(), form.one(), "size", sizeOf))
	}
}

// sizeOf indexes any form. Metadata has no data, so it is found by its color.
func sizeOf(object client.Object) []string {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		return []string{object.Data["size"]}
	case *unstructured.Unstructured:
		value, _, _ := unstructured.NestedString(object.Object, "data", "size")
		return []string{value}
	}
	return []string{object.GetLabels()["color"]}
}

// watchReads reads while others write. What it gets may be old, but never what was not asked for.
func (w *world) watchReads(random *rand.Rand, seed uint64, visible []string) {
	for range 20 {
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		namespace, color := visible[random.IntN(len(visible))], liveColors[random.IntN(2)]
		list := liveForms[random.IntN(3)].list()
		require.NoError(w.t, w.List(w.t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"color": color}), "seed %d", seed)
		for _, object := range itemsOf(w.t, list) {
			require.Equal(w.t, []string{namespace, color}, []string{object.GetNamespace(), object.GetLabels()["color"]}, "seed %d", seed)
		}
	}
}

// compare asks the cache and the server the same questions.
func (w *world) compare(seed uint64, visible []string) {
	var live corev1.ConfigMapList
	for _, namespace := range visible {
		list, err := w.live.CoreV1().ConfigMaps(namespace).List(w.t.Context(), metav1.ListOptions{})
		require.NoError(w.t, err)
		live.Items = append(live.Items, list.Items...)
	}
	for _, form := range liveForms {
		for _, namespace := range append([]string{""}, visible...) {
			for _, color := range append([]string{""}, liveColors...) {
				for _, size := range append([]string{""}, append(liveColors, liveSizes...)...) {
					opts := []client.ListOption{client.InNamespace(namespace)}
					if color != "" {
						opts = append(opts, client.MatchingLabels{"color": color})
					}
					if size != "" {
						opts = append(opts, client.MatchingFields{"size": size})
					}
					want := map[string]client.Object{}
					for i := range live.Items {
						object := inForm(w.t, &live.Items[i], form)
						if (namespace == "" || object.GetNamespace() == namespace) && (color == "" || object.GetLabels()["color"] == color) && (size == "" || slices.Contains(sizeOf(object), size)) {
							want[object.GetNamespace()+"/"+object.GetName()] = object
						}
					}
					list := form.list()
					require.NoError(w.t, w.List(w.t.Context(), list, opts...), "seed %d", seed)
					got := map[string]client.Object{}
					for _, object := range itemsOf(w.t, list) {
						got[object.GetNamespace()+"/"+object.GetName()] = object
					}
					require.Equal(w.t, want, got, "seed %d, %T in %q with color %q and size %q", seed, list, namespace, color, size)
					require.Equal(w.t, append([]string{}, slices.Sorted(maps.Keys(want))...), iterated(w.t, w.Cache, form.one(), opts...), "seed %d", seed)
				}
			}
		}
		for _, namespace := range visible {
			for _, name := range liveNames {
				got := form.one()
				err := w.Get(w.t.Context(), key(namespace, name), got)
				at := slices.IndexFunc(live.Items, func(c corev1.ConfigMap) bool { return c.Namespace == namespace && c.Name == name })
				if at < 0 {
					require.True(w.t, apierrors.IsNotFound(err), "seed %d: %v", seed, err)
					continue
				}
				require.NoError(w.t, err, "seed %d", seed)
				require.Equal(w.t, inForm(w.t, &live.Items[at], form), got, "seed %d", seed)
			}
		}
	}
}

// inForm is a live object as a reader of a form has it.
func inForm(t *testing.T, live *corev1.ConfigMap, form liveForm) client.Object {
	t.Helper()
	object := form.one()
	switch object := object.(type) {
	case *corev1.ConfigMap:
		live.DeepCopyInto(object)
		object.SetGroupVersionKind(configMapKind)
	case *metav1.PartialObjectMetadata:
		live.ObjectMeta.DeepCopyInto(&object.ObjectMeta)
	case *unstructured.Unstructured:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
		require.NoError(t, err)
		content["apiVersion"], content["kind"] = "v1", "ConfigMap"
		object.Object = content
	}
	return object
}

func itemsOf(t *testing.T, list client.ObjectList) (items []client.Object) {
	t.Helper()
	switch list := list.(type) {
	case *corev1.ConfigMapList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *metav1.PartialObjectMetadataList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *unstructured.UnstructuredList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	}
	return items
}
