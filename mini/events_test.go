package mini_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// podAt returns a Pod in one state: each version is a state of its own.
func podAt(version string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "a", UID: "1", ResourceVersion: version, Generation: 1,
	}}
	for _, f := range change {
		f(pod)
	}
	return pod
}

// ownedBy makes a Pod one that this object controls.
func ownedBy(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: name, UID: "u", Controller: new(true),
		})
	}
}

func isTrue(mini.Change) bool  { return true }
func isFalse(mini.Change) bool { return false }

func TestEnqueueObjectEnqueuesTheObjectItself(t *testing.T) {
	want := []mini.Request{request("a")}
	pod := podAt("1")
	require.Equal(t, want, mini.EnqueueObject(mini.Change{New: pod}))
	require.Equal(t, want, mini.EnqueueObject(mini.Change{Old: pod, New: podAt("2")}))
	require.Equal(t, want, mini.EnqueueObject(mini.Change{Old: pod}), "a deletion")
	require.Equal(t, want, mini.EnqueueObject(mini.Change{Old: pod, Tombstone: true}),
		"a deletion that no watch has seen")
}

// Function: EnqueueMapped
func TestEnqueueMappedMapsTheOldStateAndTheNewOne(t *testing.T) {
	handler := mini.EnqueueMapped(func(obj mini.Object) (all []mini.Request) {
		for name := range obj.GetLabels() {
			all = append(all, request(name))
		}
		return all
	})
	red := podAt("1", func(p *corev1.Pod) { p.Labels = map[string]string{"red": ""} })
	both := podAt("2", func(p *corev1.Pod) { p.Labels = map[string]string{"blue": "", "green": ""} })
	none := podAt("3")
	require.ElementsMatch(t, []mini.Request{request("red")}, handler(mini.Change{New: red}))
	require.ElementsMatch(t, []mini.Request{request("red")}, handler(mini.Change{Old: red}))
	require.ElementsMatch(t, []mini.Request{request("red"), request("blue"), request("green")},
		handler(mini.Change{Old: red, New: both}), "the Pod has left red, and has come to two others")
	require.Equal(t, request("red"), handler(mini.Change{Old: red, New: both})[0], "the old state comes first")
	require.Subset(t, handler(mini.Change{Old: red, New: none}), []mini.Request{request("red")},
		"the Pod has left")
	require.Empty(t, handler(mini.Change{Old: none}))
}

// Function: EnqueueMapped
func TestAHandlerDoesNotWriteIntoTheMappersSlice(t *testing.T) {
	shared := append(make([]mini.Request, 0, 10), request("a"))
	handler := mini.EnqueueMapped(func(mini.Object) []mini.Request { return shared })
	handler(mini.Change{Old: podAt("1"), New: podAt("2")})
	require.Equal(t, mini.Request{}, shared[:2][1], "the slice belongs to the mapper")
}

// A Pod that changes concerns the object that made it.
//
// Function: EnqueueOwner
func TestEnqueueOwnerEnqueuesTheController(t *testing.T) {
	handler := mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
	web := ownedBy("apps/v1", "ReplicaSet", "web")
	want := []mini.Request{request("web")}
	require.Equal(t, want, handler(mini.Change{New: podAt("1", web)}))
	require.Equal(t, want, handler(mini.Change{Old: podAt("1", web)}), "a deletion")
	require.Equal(t, want, handler(mini.Change{Old: podAt("1", web), Tombstone: true}))
	require.Equal(t, want, handler(mini.Change{New: podAt("1", ownedBy("apps/v2", "ReplicaSet", "web"))}),
		"the reference is in another version")
	require.Empty(t, handler(mini.Change{New: podAt("1")}), "a Pod without an owner")
	for _, other := range [][2]string{
		{"apps/v1", "Deployment"}, {"example.com/v1", "ReplicaSet"}, {"v1", "ReplicaSet"},
	} {
		require.Empty(t, handler(mini.Change{New: podAt("1", ownedBy(other[0], other[1], "web"))}), "%v", other)
	}
	require.Empty(t, handler(mini.Change{New: podAt("1", web, func(p *corev1.Pod) {
		p.OwnerReferences[0].Controller = nil
	})}), "an owner that is not the controller")
	require.Equal(t, want, handler(mini.Change{New: podAt("1", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "config"}}
	}, web)}), "the controller is not the first owner")
	require.Equal(t, []mini.Request{{Namespace: "kube-system", Name: "web"}},
		handler(mini.Change{New: podAt("1", web, func(p *corev1.Pod) { p.Namespace = "kube-system" })}))

	pods := mini.EnqueueOwner(schema.GroupKind{Kind: "Pod"})
	require.Equal(t, want, pods(mini.Change{New: podAt("1", ownedBy("v1", "Pod", "web"))}),
		"the core group has no name")
}

// Function: EnqueueOwner
func TestEnqueueOwnerEnqueuesBothOwnersWhenAnObjectMoves(t *testing.T) {
	handler := mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
	one, two := ownedBy("apps/v1", "ReplicaSet", "one"), ownedBy("apps/v1", "ReplicaSet", "two")
	require.ElementsMatch(t, []mini.Request{request("one"), request("two")},
		handler(mini.Change{Old: podAt("1", one), New: podAt("2", two)}))
	require.Equal(t, []mini.Request{request("one")},
		handler(mini.Change{Old: podAt("1", one), New: podAt("2")}), "one has to replace a Pod that it has lost")
	require.Equal(t, []mini.Request{request("two")},
		handler(mini.Change{Old: podAt("1"), New: podAt("2", two)}))
	require.Subset(t, []mini.Request{request("one")},
		handler(mini.Change{Old: podAt("1", one), New: podAt("2", one)}))
}

// Function: GenerationChanged
func TestGenerationChangedPassesChangesOfTheSpec(t *testing.T) {
	next := func(p *corev1.Pod) { p.Generation++ }
	noGeneration := func(p *corev1.Pod) { p.Generation = 0 }
	deleting := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	pass := mini.GenerationChanged
	require.True(t, pass(mini.Change{Old: podAt("1"), New: podAt("2", next)}))
	require.False(t, pass(mini.Change{Old: podAt("1"), New: podAt("2")}), "a change of the status")
	require.True(t, pass(mini.Change{New: podAt("1")}), "an addition")
	require.True(t, pass(mini.Change{Old: podAt("1")}), "a deletion")
	require.True(t, pass(mini.Change{Old: podAt("1"), New: podAt("1")}), "a resync")
	require.True(t, pass(mini.Change{Old: podAt("1"), New: podAt("2", deleting)}),
		"when a deletion begins, a finalizer has to be removed")
	require.False(t, pass(mini.Change{Old: podAt("1", deleting), New: podAt("2", deleting)}))
	require.True(t, pass(mini.Change{Old: podAt("1", noGeneration), New: podAt("2", noGeneration)}),
		"a kind without generations")
}

// A cluster that was restored from a backup has an older spec, with a lower generation. If that change is filtered, the world
// stays as the undone spec wanted it.
//
// Function: GenerationChanged
func TestAGenerationMayGoBack(t *testing.T) {
	older, newer := podAt("1"), podAt("2")
	older.Generation, newer.Generation = 3, 7
	require.True(t, mini.GenerationChanged(mini.Change{Old: newer, New: older}))
}

// Function: LabelsChanged
func TestLabelsChangedPassesChangesOfLabels(t *testing.T) {
	labels := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels = map[string]string{"app": value} }
	}
	pass := mini.LabelsChanged
	require.True(t, pass(mini.Change{Old: podAt("1", labels("a")), New: podAt("2", labels("b"))}))
	require.True(t, pass(mini.Change{Old: podAt("1", labels("a")), New: podAt("2")}))
	require.False(t, pass(mini.Change{Old: podAt("1", labels("a")), New: podAt("2", labels("a"))}))
	require.True(t, pass(mini.Change{New: podAt("1")}), "an addition")
	require.True(t, pass(mini.Change{Old: podAt("1")}), "a deletion")
	require.True(t, pass(mini.Change{Old: podAt("1"), New: podAt("1")}), "a resync")
}

func TestAndIsTrueIfAllAreAndOrIfOneIs(t *testing.T) {
	var c mini.Change
	for _, test := range []struct {
		and, or    bool
		predicates []mini.Predicate
	}{
		{true, false, nil},
		{true, true, []mini.Predicate{isTrue}},
		{false, false, []mini.Predicate{isFalse}},
		{false, true, []mini.Predicate{isTrue, isFalse}},
		{false, true, []mini.Predicate{isFalse, isTrue}},
		{true, true, []mini.Predicate{isTrue, isTrue}},
		{false, false, []mini.Predicate{isFalse, isFalse}},
	} {
		require.Equal(t, test.and, mini.And(test.predicates...)(c), "And of %d", len(test.predicates))
		require.Equal(t, test.or, mini.Or(test.predicates...)(c), "Or of %d", len(test.predicates))
	}
	mini.And(isFalse, func(mini.Change) bool { t.Error("And knows the answer"); return true })(c)
	mini.Or(isTrue, func(mini.Change) bool { t.Error("Or knows the answer"); return true })(c)
	require.True(t, mini.Or(mini.And(isTrue, isFalse), mini.And(isTrue))(c), "predicates can be nested")
}

// configMaps returns an informer for ConfigMaps that does not run yet.
func (w *world) configMaps() *mini.SharedInformer {
	lw, err := w.Cluster.ListWatch(&corev1.ConfigMap{}, "default")
	require.NoError(w, err)
	return mini.NewSharedInformer(lw, nil)
}

// configMap returns a ConfigMap in the namespace "default".
func aConfigMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	for i := 0; i < len(data); i += 2 {
		cm.Data = map[string]string{data[i]: data[i+1]}
	}
	return cm
}

// otherCreates creates a ConfigMap as another process does.
func (w *world) otherCreates(cm *corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	cm, err := w.Other.CoreV1().ConfigMaps(cm.Namespace).Create(w.ctx, cm, metav1.CreateOptions{})
	require.NoError(w, err)
	return cm
}

// otherUpdates updates a ConfigMap as another process does.
func (w *world) otherUpdates(cm *corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	cm, err := w.Other.CoreV1().ConfigMaps(cm.Namespace).Update(w.ctx, cm, metav1.UpdateOptions{})
	require.NoError(w, err)
	return cm
}

// otherDeletes deletes a ConfigMap as another process does.
func (w *world) otherDeletes(name string) {
	w.Helper()
	err := w.Other.CoreV1().ConfigMaps("default").Delete(w.ctx, name, metav1.DeleteOptions{})
	require.NoError(w, err)
}

// noting returns a controller that notes the names that it reconciles.
func noting() (*mini.Controller, *notes) {
	n := newNotes()
	return mini.NewController("test", mini.ReconcilerFunc(
		func(_ context.Context, req mini.Request) (mini.Result, error) {
			n.add(req.Name)
			return mini.Result{}, nil
		})), n
}

// Function: Controller.Watch
func TestEachChangeOfAWatchedObjectIsReconciled(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("old"))
		informer := w.configMaps()
		c, n := noting()
		c.Watch(informer, mini.EnqueueObject)
		w.run(informer.Run)
		w.run(c.Run)
		time.Sleep(time.Second)
		require.Equal(w, []string{"0s old"}, n.all(), "an object that existed before is an addition")
		cm := w.otherCreates(aConfigMap("new"))
		time.Sleep(time.Second)
		cm.Data = map[string]string{"a": "b"}
		w.otherUpdates(cm)
		time.Sleep(time.Second)
		w.otherDeletes("new")
		time.Sleep(time.Second)
		require.Equal(w, []string{"1s new", "2s new", "3s new"}, n.all()[1:])
	})
}

// A predicate that is ignored lets a controller wake itself.
//
// Function: Controller.Watch
func TestAChangeHasToPassAllPredicates(t *testing.T) {
	inMemory(t, func(w *world) {
		informer := w.configMaps()
		c, n := noting()
		named := func(name string) mini.Predicate {
			return func(change mini.Change) bool { return change.Object().GetName() != name }
		}
		c.Watch(informer, mini.EnqueueObject, named("a"), named("b"))
		w.run(informer.Run)
		w.run(c.Run)
		for _, name := range []string{"a", "b", "c"} {
			w.otherCreates(aConfigMap(name))
		}
		synctest.Wait()
		require.Equal(w, []string{"0s c"}, n.all())
	})
}

// Function: Controller.Watch
func TestTheControllerWaitsForAllThatItWatches(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "list", Resource: "pods"}, Delay: time.Minute,
		})
		maps := w.configMaps()
		lw, err := w.Cluster.ListWatch(&corev1.Pod{}, "")
		require.NoError(w, err)
		pods := mini.NewSharedInformer(lw, nil)
		c, n := noting()
		c.Watch(maps, mini.EnqueueObject)
		c.Watch(pods, mini.EnqueueObject, isFalse)
		w.run(maps.Run)
		w.run(pods.Run)
		w.run(c.Run)
		time.Sleep(time.Hour)
		require.Equal(w, []string{"1m0s a"}, n.all(), "a reconcile began before the Pods were listed")
	})
}

func TestAResyncReconcilesEverythingAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		informer := w.configMaps()
		informer.ResyncPeriod = 10 * time.Minute
		c, n := noting()
		c.Watch(informer, mini.EnqueueObject, mini.GenerationChanged, mini.LabelsChanged)
		w.run(informer.Run)
		w.run(c.Run)
		time.Sleep(25 * time.Minute)
		require.Equal(w, []string{"0s a", "10m0s a", "20m0s a"}, n.all())
	})
}

func TestADeletionThatNoWatchHasSeenIsReconciled(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		w.Server.Inject(fakeapi.Fault{ // the first watch ends after a second, the next ones fail
			Match: fakeapi.Match{Verb: "watch"}, CutAfter: time.Second, Times: 1,
		})
		informer := w.configMaps()
		c, n := noting()
		c.Watch(informer, mini.EnqueueObject, mini.GenerationChanged, mini.LabelsChanged)
		w.run(informer.Run)
		w.run(c.Run)
		synctest.Wait()
		down := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Status: fakeapi.Unavailable()})
		time.Sleep(2 * time.Second)
		w.otherDeletes("a")
		w.Server.CompactAll()
		down()
		time.Sleep(time.Hour)
		require.Len(w, n.all(), 2, "the object was deleted, but its controller doesn't know it")
	})
}

// Function: Controller.Watch
func TestTheFlightRecorderShowsWhyARequestWasAdded(t *testing.T) {
	inMemory(t, func(w *world) {
		informer := w.configMaps()
		c, _ := noting()
		c.Trace = trace.New(0)
		handler := func(mini.Change) []mini.Request {
			return []mini.Request{request("x"), request("y")}
		}
		c.Watch(informer, handler, func(change mini.Change) bool {
			return change.Object().GetName() == "a"
		})
		w.run(informer.Run)
		synctest.Wait()
		a, b := w.otherCreates(aConfigMap("a")), w.otherCreates(aConfigMap("b"))
		synctest.Wait()
		require.Equal(w, []string{"handler", "handler", "predicate"}, kinds(c.Trace))
		events := c.Trace.Events()
		require.Equal(w, "default/x", events[0].ToNamespace+"/"+events[0].ToName)
		require.Equal(w, "y", events[1].ToName)
		require.Equal(w, "ConfigMap a "+a.ResourceVersion,
			events[0].Object+" "+events[0].Name+" "+events[0].Version)
		require.Equal(w, trace.Filtered, events[2].Outcome)
		require.Equal(w, "ConfigMap b "+b.ResourceVersion,
			events[2].Object+" "+events[2].Name+" "+events[2].Version)
	})
}
