package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// counter writes numbers into config maps, in one form, and reads what it has written.
type counter struct {
	client.Client
	form   string
	prefix string                      // of the names of its objects
	want   map[client.ObjectKey]string // the number that each object must have; no entry if it must not be there
}

func (c *counter) object() client.Object {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	switch c.form {
	case "unstructured":
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		return u
	case "metadata":
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	default:
		return &corev1.ConfigMap{}
	}
}

// check reads all that was written, one by one and in a list.
func (c *counter) check(t *testing.T, ctx context.Context) {
	for i := range 4 {
		key := client.ObjectKey{Namespace: "default", Name: fmt.Sprint(c.prefix, i)}
		obj := c.object()
		err := c.Get(ctx, key, obj)
		want, there := c.want[key]
		if !there {
			require.NoError(t, client.IgnoreNotFound(err))
			require.True(t, err != nil || obj.GetDeletionTimestamp() != nil, "%s is gone", key)
			continue
		}
		require.NoError(t, err, key)
		require.Equal(t, want, obj.GetLabels()["count"], "%s, %s", c.form, key)
	}
	var list client.ObjectList = &corev1.ConfigMapList{}
	switch c.form {
	case "unstructured":
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
		list = u
	case "metadata":
		list = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	}
	require.NoError(t, c.List(ctx, list, client.InNamespace("default")))
	items, err := meta.ExtractList(list)
	require.NoError(t, err)
	for key, want := range c.want {
		require.True(t, slices.ContainsFunc(items, func(item runtime.Object) bool {
			obj := item.(client.Object)
			return client.ObjectKeyFromObject(obj) == key && obj.GetLabels()["count"] == want
		}), "%s must be in the list as it was written", key)
	}
}

// step makes one random write.
func (c *counter) step(t *testing.T, ctx context.Context, random *rand.Rand, n int) {
	key := client.ObjectKey{Namespace: "default", Name: fmt.Sprint(c.prefix, random.IntN(4))}
	labels := map[string]string{"count": fmt.Sprint(n)}
	obj := c.object()
	if c.form == "metadata" {
		obj = &corev1.ConfigMap{} // made as a whole, and patched as metadata
	}
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	_, there := c.want[key]
	if !there {
		obj.SetLabels(labels)
		require.NoError(t, c.Create(ctx, obj))
		if c.form == "metadata" {
			patched := c.object()
			patched.SetNamespace(key.Namespace)
			patched.SetName(key.Name)
			require.NoError(t, c.Patch(ctx, patched, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"made":"true"}}}`))))
		}
		c.want[key] = labels["count"]
		return
	}
	switch choice := random.IntN(4); {
	case choice == 0:
		remove := c.object()
		remove.SetNamespace(key.Namespace)
		remove.SetName(key.Name)
		require.NoError(t, c.Delete(ctx, remove))
		delete(c.want, key)
		return
	case choice == 1 && c.form != "metadata":
		require.NoError(t, c.Get(ctx, key, obj))
		obj.SetLabels(labels)
		require.NoError(t, c.Update(ctx, obj), "what was read must be what was written last")
	case choice == 2 && c.form == "typed":
		require.NoError(t, c.Apply(ctx, coreapply.ConfigMap(key.Name, key.Namespace).WithLabels(labels), client.FieldOwner("counter"), client.ForceOwnership))
	default:
		patched := c.object()
		require.NoError(t, c.Get(ctx, key, patched))
		before := patched.DeepCopyObject().(client.Object)
		patched.SetLabels(labels)
		require.NoError(t, c.Patch(ctx, patched, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})), "what was read must be what was written last")
	}
	c.want[key] = labels["count"]
}

// Whatever is written, it is what is read: with a watch that is late, and is cut, in each form, from
// several goroutines, for caches of all namespaces and of one.
func TestAClientReadsItsOwnWritesFromACacheThatIsLate(t *testing.T) {
	seeds := race.Fewer(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			server := fakeapi.New(fakeapi.Options{Seed: uint64(seed)})
			defer server.Close()
			server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Duration(random.IntN(50)) * time.Millisecond})
			server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, CutAfterEvents: 1 + random.IntN(30), CutAbruptly: true, Probability: 0.3, Seed: uint64(seed)})
			var options cache.Options
			if seed%2 == 1 {
				options.DefaultNamespaces = map[string]cache.Config{"default": {}, "kube-system": {}}
			}
			objects, err := cache.New(server.Config(), options)
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- objects.Start(ctx) }()
			synctest.Wait() // before it runs, a cache refuses to read
			yes := true
			c, err := client.New(server.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, Unstructured: true, EnableReadYourWritesConsistency: &yes}})
			require.NoError(t, err)

			var counters sync.WaitGroup
			for i, form := range []string{"typed", "unstructured", "metadata", "typed"} {
				counters.Go(func() {
					random := rand.New(rand.NewPCG(uint64(seed), uint64(i)+2))
					count := &counter{Client: c, form: form, prefix: fmt.Sprint(form, "-", i, "-"), want: map[client.ObjectKey]string{}}
					for n := range 15 {
						count.step(t, ctx, random, n)
						if random.IntN(2) == 0 {
							time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
						}
						count.check(t, ctx)
					}
				})
			}
			counters.Wait()
			stop()
			require.NoError(t, <-ended)
		})
	}
}

// A program that writes before it starts its cache, in main for instance, would hang.
func TestAReadFromACacheThatWasNotStartedDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		objects, err := cache.New(server.Config(), cache.Options{})
		require.NoError(t, err)
		yes := true
		c, err := client.New(server.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: &yes}})
		require.NoError(t, err)
		_, err = objects.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		require.NoError(t, c.Create(t.Context(), obj))
		var notStarted *cache.ErrCacheNotStarted
		require.ErrorAs(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj), &notStarted)
		require.NoError(t, c.Delete(t.Context(), obj))
		require.ErrorAs(t, c.List(t.Context(), &corev1.ConfigMapList{}), &notStarted)
	})
}

// redWorld has a cache of what is red, which hears of each event a second late, and a client of it that reads its own
// writes.
type redWorld struct {
	*testing.T
	client.Client
	others client.Client // somebody else
}

func inRedWorld(t *testing.T, test func(w *redWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Second})
		objects, err := cache.New(server.Config(), cache.Options{DefaultLabelSelector: labels.SelectorFromSet(labels.Set{"color": "red"})})
		require.NoError(t, err)
		w := &redWorld{T: t}
		w.Client, err = client.New(server.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
		require.NoError(t, err)
		w.others, err = client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- objects.Start(ctx) }()
		synctest.Wait()
		require.NoError(t, w.List(ctx, &corev1.ConfigMapList{}))
		time.Sleep(time.Minute)
		test(w)
		stop()
		require.NoError(t, <-ended)
	})
}

func colored(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"color": color}}}
}

// paint writes another color, and something else, so that each write is a change.
func (w *redWorld) paint(c client.Client, color, data string) {
	w.Helper()
	object := colored(color)
	object.Data = map[string]string{"data": data}
	require.NoError(w, c.Update(w.Context(), object))
}

// staysAway reads for ten seconds, and must not find the object. No read may wait longer than an event takes.
func (w *redWorld) staysAway() {
	w.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		asked := time.Now()
		err := w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})
		require.True(w, apierrors.IsNotFound(err), "after %s: %v", time.Since(began), err)
		var all corev1.ConfigMapList
		require.NoError(w, w.List(w.Context(), &all))
		require.Empty(w, all.Items, "after %s", time.Since(began))
		require.LessOrEqual(w, time.Since(asked), 3*time.Second, "a read waits for something that has no event, until the next bookmark")
	}
}

// Such a write has no event, and the next bookmark is a minute away.
func TestAWriteOfAnObjectThatHasLeftTheCacheIsNotWaitedFor(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{}))
		w.paint(w, "blue", "1")
		time.Sleep(10 * time.Second)
		w.paint(w, "blue", "2")
		began := time.Now()
		require.True(w, apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})))
		require.Zero(w, time.Since(began))
	})
}

// The first of these writes takes the object out of the cache. The second has no event.
func TestAnObjectThatLeavesTheCacheCanBeWrittenAgain(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{}))
		w.paint(w, "blue", "1")
		w.paint(w, "blue", "2")
		began := time.Now()
		require.True(w, apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})))
		require.Equal(w, time.Second, time.Since(began), "the event that takes it away ends the wait")
		w.staysAway()
		w.paint(w, "red", "3")
		w.paint(w, "blue", "4")
		w.paint(w, "red", "5")
		var read corev1.ConfigMap
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &read))
		require.Equal(w, "5", read.Data["data"])
	})
}

// The cache shows what it was told to keep a moment after it was taken out, and a reconciler would work on it.
func TestAnObjectThatHasLeftIsNotReadWhenItsComingIsSeenLate(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		w.paint(w, "blue", "1")
		w.staysAway()
	})
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("blue")))
		w.paint(w.others, "red", "1") // of which our cache does not know
		w.paint(w, "blue", "2")
		w.staysAway()
	})
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		w.paint(w, "blue", "1")
		require.NoError(w, w.Delete(w.Context(), colored("")))
		w.staysAway()
	})
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		for _, data := range []string{"1", "2"} { // the second has no event
			blue := coreapply.ConfigMap("a", "default").
				WithLabels(map[string]string{"color": "blue"}).
				WithData(map[string]string{"data": data})
			require.NoError(w,
				w.Apply(w.Context(), blue, client.FieldOwner("me"), client.ForceOwnership))
		}
		w.staysAway()
	})
}

// Who scales an object needs no more of it than its name. Its labels, which say whether the cache has
// it, are known from the write before.
func TestAReadWaitsForAnObjectThatIsScaledByItsName(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		ctx := w.Context()
		require.NoError(w, w.List(ctx, &appsv1.DeploymentList{}))
		named := metav1.ObjectMeta{Namespace: "default", Name: "a"}
		red := &appsv1.Deployment{ObjectMeta: *named.DeepCopy()}
		red.Labels = map[string]string{"color": "red"}
		red.Spec.Selector = &metav1.LabelSelector{MatchLabels: red.Labels}
		red.Spec.Template.Labels = red.Labels
		red.Spec.Template.Spec.Containers = []corev1.Container{{Name: "paint", Image: "paint"}}
		require.NoError(w, w.Create(ctx, red))
		scale := &autoscalingv1.Scale{}
		require.NoError(w, w.SubResource("scale").Get(ctx, red, scale))
		scale.Spec.Replicas = 3
		require.NoError(w, w.SubResource("scale").Update(ctx, &appsv1.Deployment{ObjectMeta: named},
			client.WithSubResourceBody(scale)))
		var read appsv1.Deployment
		require.NoError(w, w.Get(ctx, client.ObjectKeyFromObject(red), &read))
		require.Equal(w, int32(3), *read.Spec.Replicas)
	})
}
