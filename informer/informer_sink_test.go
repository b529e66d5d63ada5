package informer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

// handFed is an informer that gets from the test what a reflector would bring.
func handFed(options InformerOptions[*corev1.Pod]) informerSink[*corev1.Pod] {
	return informerSink[*corev1.Pod]{NewInformer[*corev1.Pod](nil, options)}
}

func eventOf(kind watch.EventType, pod *corev1.Pod) Event[*corev1.Pod] {
	return Event[*corev1.Pod]{Type: kind, Object: pod, ResourceVersion: pod.ResourceVersion}
}

// hearing is hand-fed in a synctest bubble, and has a handler.
func hearing(t *testing.T, handler Handler[*corev1.Pod], test func(i informerSink[*corev1.Pod])) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		_, err := i.AddHandler(handler, HandlerOptions{})
		require.NoError(t, err)
		i.startHandlers()
		defer i.stopHandlers()
		test(i)
	})
}

// A watch may report an addition twice, a deletion of what is not there, or another object of
// the same name whose beginning or end it has not shown. To a handler each is a legal step.
func TestEachEventLeadsAHandlerFromWhatItKnowsToWhatThereIs(t *testing.T) {
	added, modified, deleted := watch.Added, watch.Modified, watch.Deleted
	for name, c := range inorder.Map(map[string]struct {
		known *corev1.Pod
		kind  watch.EventType
		comes *corev1.Pod
		told  heard
	}{
		"added":                          {nil, added, a1, heard{"add a1 false"}},
		"added again":                    {a1, added, podAt("a", "1"), nil},
		"added, and is known":            {a1, added, a2, heard{"update a1 a2"}},
		"added, and another is known":    {a1, added, b4, heard{"delete a1 true", "add b4 false"}},
		"modified":                       {a1, modified, a2, heard{"update a1 a2"}},
		"modified, and is not known":     {nil, modified, a2, heard{"add a2 false"}},
		"modified, and another is known": {a1, modified, b4, heard{"delete a1 true", "add b4 false"}},
		"deleted":                        {a1, deleted, a2, heard{"delete a2 false"}},
		"deleted, and is not known":      {nil, deleted, a2, nil},
		"deleted, and another is known":  {a1, deleted, b4, heard{"delete a1 true"}},
	}) {
		t.Run(name, func(t *testing.T) {
			var h heard
			hearing(t, h.handler(), func(i informerSink[*corev1.Pod]) {
				i.Replace(nil, "1")
				if c.known != nil {
					i.Apply(eventOf(watch.Added, c.known))
				}
				synctest.Wait()
				h = nil
				i.Apply(eventOf(c.kind, c.comes))
				synctest.Wait()
				require.Equal(t, c.told, h)
				stored, there := i.store.Get(KeyOf(c.comes))
				require.Equal(t, c.kind != watch.Deleted, there)
				if there {
					require.Equal(t, c.comes, stored)
				}
			})
		})
	}
}

// What vanished while there was no watch is gone, and nobody saw it go. What a list repeats
// reaches no handler.
func TestAListLeadsAHandlerFromWhatItKnowsToWhatThereIs(t *testing.T) {
	var h heard
	hearing(t, h.handler(), func(i informerSink[*corev1.Pod]) {
		i.Replace([]*corev1.Pod{a1, podNamed("same", "s", "1"), podNamed("gone", "g", "1")}, "3")
		synctest.Wait()
		require.Equal(t, heard{"add a1 true", "add s1 true", "add g1 true"}, h)
		h = nil
		i.Replace([]*corev1.Pod{b4, podNamed("same", "s", "1"), podNamed("new", "n", "2")}, "5")
		synctest.Wait()
		require.Equal(t, heard{"delete a1 true", "add b4 false", "add n2 false", "delete g1 true"}, h)
		require.Equal(t, 3, i.store.Len())
	})
}

// The timeline shows which ends are a conclusion: the last state may be old.
func TestTheRecorderIsToldOfEndsThatNobodySaw(t *testing.T) {
	recorder := trace.New(16)
	i := handFed(InformerOptions[*corev1.Pod]{Recorder: recorder})
	i.Replace([]*corev1.Pod{a1, podNamed("gone", "g", "1"), podNamed("seen", "s", "1")}, "1")
	i.Apply(eventOf(watch.Deleted, podNamed("seen", "s", "2")))
	i.Replace([]*corev1.Pod{b4}, "4")
	var told []string
	for _, event := range (trace.Filter{Kinds: []trace.Kind{trace.Delta}}).Select(recorder.Events()) {
		told = append(told, event.Op+" "+event.Name+" "+event.Version)
	}
	require.Equal(t, []string{"tombstone web 1", "tombstone gone 1"}, told)
}

// A Pod that can't start is one of the first list as well as one that changes, and it's over when it's deleted, seen or not.
func TestTheRecorderIsToldWhichObjectsAreNotGettingAnywhere(t *testing.T) {
	recorder := trace.New(64)
	i := handFed(InformerOptions[*corev1.Pod]{Recorder: recorder})
	pod := func(name, version string, ready corev1.ConditionStatus) *corev1.Pod {
		p := podNamed(name, name, version)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, Reason: "ContainersNotReady"}}
		return p
	}
	i.Replace([]*corev1.Pod{pod("listed", "1", "False"), pod("fine", "1", "True"), pod("vanishes", "1", "False")}, "1")
	i.Apply(eventOf(watch.Modified, pod("fine", "2", "False")))
	i.Apply(eventOf(watch.Modified, pod("fine", "3", "True")))
	i.Apply(eventOf(watch.Deleted, pod("listed", "4", "False")))
	i.Replace([]*corev1.Pod{pod("fine", "3", "True")}, "5")
	var told []string
	for _, event := range (trace.Filter{Kinds: []trace.Kind{trace.Condition}}).Select(recorder.Events()) {
		told = append(told, event.Name+" "+event.Op+" "+event.Reason)
	}
	const why = " Ready Ready is False: ContainersNotReady"
	require.Equal(t, []string{"listed" + why, "vanishes" + why, "fine" + why, "fine Ready ", "listed Ready ", "vanishes Ready "}, told)
}

// A pod is replaced by one of the same name. A controller that finds none creates a third.
func TestAnObjectThatIsReplacedIsNeverMissingFromTheStore(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace([]*corev1.Pod{a1}, "1")
	_, err := i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		require.Equal(t, 1, len(i.store.stored.objects),
			"the first is gone, and the second is not there yet")
		return values
	})
	require.NoError(t, err)
	i.Replace([]*corev1.Pod{b4}, "4")
	require.Equal(t, 1, i.store.Len())
}

// An empty namespace is synced as soon as its empty list is here. A controller that waits for
// the first object waits forever.
func TestAnEmptyFirstListIsSynced(t *testing.T) {
	hearing(t, HandlerFuncs[*corev1.Pod]{}, func(i informerSink[*corev1.Pod]) {
		require.False(t, i.hasSynced())
		i.Replace(nil, "7")
		<-i.Synced()
		synctest.Wait()
		<-i.listeners[0].synced
	})
}

// A handler that looks at something besides the objects relies on hearing of all of them
// again, at its own period, whatever that of others is.
func TestAResyncOfManyObjectsReachesTheHandlerAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		again := map[Key]int{}
		asks := HandlerFuncs[*corev1.Pod]{Update: func(_, pod *corev1.Pod) { again[KeyOf(pod)]++ }}
		for period, handler := range map[time.Duration]HandlerFuncs[*corev1.Pod]{0: {},
			time.Minute: asks, time.Hour: {}} {
			_, err := i.AddHandler(handler, HandlerOptions{Resync: period})
			require.NoError(t, err)
		}
		i.startHandlers()
		defer i.stopHandlers()
		i.Replace(smallPods(1000), "1")
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Len(t, again, 1000)
		for key, times := range again {
			require.Equal(t, 2, times, "%s was told again %d times in two and a half minutes", key, times)
		}
	})
}

// In a busy collection there is always something to tell. A handler gets its resync all the same.
func TestAResyncBeginsEvenIfChangesKeepComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		changes, resyncs := 0, 0
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Update: func(old, pod *corev1.Pod) {
			if old == pod {
				resyncs++
				return
			}
			time.Sleep(time.Second)
			if changes++; changes < 200 {
				i.Apply(eventOf(watch.Modified, podAt("a", fmt.Sprint(changes+10))))
			}
		}}, HandlerOptions{Resync: time.Minute})
		require.NoError(t, err)
		i.startHandlers()
		defer i.stopHandlers()
		i.Replace([]*corev1.Pod{a1}, "1")
		i.Apply(eventOf(watch.Modified, a2))
		time.Sleep(199 * time.Second)
		synctest.Wait()
		require.Equal(t, 3, resyncs, "it waits until nothing changes any more")
	})
}

// A list of many objects ends with the version that was reached. Whoever waits for a deletion
// asks for that version, at any time. An event of a server that gives no versions takes
// nothing away.
func TestWhatWasReachedStaysReached(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(nil, "9")
	i.Apply(Event[*corev1.Pod]{Type: watch.Added, Object: podOn("a", "")})
	require.NoError(t, i.WaitFor(over(t), keyIn("shop", "gone"), "8"))
	require.NoError(t, i.WaitFor(over(t), keyIn("shop", "gone"), "9"))
	require.ErrorIs(t, i.WaitFor(over(t), keyIn("shop", "gone"), "10"), context.Canceled,
		"9 is older than 10")
	require.ErrorIs(t, i.WaitFor(over(t), keyIn("shop", "gone"), ""), errNoVersion)
	require.ErrorContains(t, i.WaitFor(over(t), keyIn("shop", "gone"), "seven"),
		"waiting for shop/gone")
	i.Progress("10")
	require.NoError(t, i.WaitFor(over(t), keyIn("shop", "gone"), "10"))
}

// A list that repeats a version is a resync, and an event may be late. Only a list that's older says that the server has lost what
// came after it.
func TestOnlyAnOlderListIsARewind(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	for _, step := range []struct {
		version string
		rewinds int
	}{{"9", 0}, {"9", 0}, {"10", 0}, {"", 0}, {"9", 1}, {"9", 1}, {"no number", 1}, {"8", 1}, {"7", 2}} {
		i.Replace(nil, step.version)
		require.Equal(t, step.rewinds, i.Rewinds(), "after a list at version %q", step.version)
	}
	i.Progress("6")
	require.Equal(t, 2, i.Rewinds())
}

// over is a context that has ended: a wait with it asks once.
func over(t *testing.T) context.Context {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	return ended
}

// Whoever waits for a version reads the store next. So the change must be in the store before.
func TestAWaitEndsWhenTheStoreHasTheChangeAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.Replace([]*corev1.Pod{a1}, "1")
		ended := map[string]bool{}
		for _, version := range []string{"2", "5"} {
			go func() {
				require.NoError(t, i.WaitFor(t.Context(), KeyOf(a1), version))
				ended[version] = true
			}()
		}
		synctest.Wait()
		i.Apply(eventOf(watch.Added, podNamed("other", "o", "1")))
		synctest.Wait()
		require.Empty(t, ended)
		looked := 0
		_, err := i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
			if pod == a2 && looked == 0 {
				looked++
				require.ErrorIs(t, i.WaitFor(over(t), KeyOf(a1), "2"), context.Canceled,
					"the wait is over, and the object is not stored yet")
			}
			return values
		})
		require.NoError(t, err)
		i.Apply(eventOf(watch.Modified, a2))
		synctest.Wait()
		require.Equal(t, 1, looked)
		require.Equal(t, map[string]bool{"2": true}, ended)
		i.Apply(eventOf(watch.Deleted, podAt("a", "6"))) // version 5 was never seen
		synctest.Wait()
		require.Len(t, ended, 2, "the store is past version 5: it is not older than the write, "+
			"whatever it holds")
	})
}

// A list changes many objects. Whoever waits for its version may read any of them next.
func TestTheVersionOfAListIsReachedWhenAllOfItIsInTheStore(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace([]*corev1.Pod{a1, podNamed("gone", "g", "1")}, "1")
	looked := 0
	_, err := i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		if looked++; looked > 2 { // not for AddIndex
			require.ErrorIs(t, i.WaitFor(over(t), keyIn("shop", "gone"), "5"), context.Canceled)
		}
		return values
	})
	require.NoError(t, err)
	i.Replace([]*corev1.Pod{a2, podNamed("new", "n", "5")}, "5")
	require.Greater(t, looked, 2)
	require.NoError(t, i.WaitFor(over(t), keyIn("shop", "gone"), "5"))
}

// An object may be gone before the store has heard of its last write. There is no event for the
// caller then: whatever else shows how far the store has come must end the wait, because nothing
// more may happen for an hour.
func TestAWaitEndsWhateverShowsHowFarTheStoreHasCome(t *testing.T) {
	type sink = informerSink[*corev1.Pod]
	version := func(ctx context.Context, i sink) error {
		return i.WaitFor(ctx, keyIn("shop", "gone"), "5")
	}
	end := func(ctx context.Context, i sink) error {
		return i.WaitForEnd(ctx, KeyOf(a1), func(*corev1.Pod) bool { return true })
	}
	for name, c := range inorder.Map(map[string]struct {
		wait  func(ctx context.Context, i sink) error
		comes func(i sink)
	}{
		"another object's event": {version, func(i sink) {
			i.Apply(eventOf(watch.Added, podNamed("other", "o", "5")))
		}},
		"a list":                   {version, func(i sink) { i.Replace(nil, "5") }},
		"a bookmark":               {version, func(i sink) { i.Progress("5") }},
		"a list without a version": {end, func(i sink) { i.Replace(nil, "") }},
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := handFed(InformerOptions[*corev1.Pod]{})
				i.Replace([]*corev1.Pod{a1}, "1")
				ended := make(chan error, 1)
				go func() { ended <- c.wait(t.Context(), i) }()
				synctest.Wait()
				require.Empty(t, ended)
				c.comes(i)
				require.NoError(t, <-ended)
			})
		})
	}
}

// The mode that finds out who changes cached objects is for tests. A program that does not ask
// for it pays nothing for it, and does not end because of it.
func TestWithoutDetectMutationsNothingIsKeptOrReported(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	pod := podAt("a", "1")
	i.Apply(eventOf(watch.Added, pod))
	pod.Status.Phase = corev1.PodRunning
	require.NotPanics(t, func() { i.Apply(eventOf(watch.Deleted, pod)) })
	require.Empty(t, i.detector.kept)
}

// A cluster was restored from a backup, or converts objects in another way since its
// upgrade: a list shows another content under a version that is known. It must reach the
// store and the handlers; what has not changed must reach no handler.
func TestAListWithAnotherContentUnderTheSameVersionReachesEverybody(t *testing.T) {
	for name, version := range inorder.Map(map[string]string{"with versions": "5",
		"without versions": ""}) {
		t.Run(name, func(t *testing.T) {
			pods := func(node string) []*corev1.Pod {
				changed, same := podOn("changed", node), podOn("same", "node-1")
				changed.ResourceVersion, same.ResourceVersion = version, version
				return []*corev1.Pod{changed, same}
			}
			var calls []string
			hearing(t, HandlerFuncs[*corev1.Pod]{
				Update: func(old, pod *corev1.Pod) {
					calls = append(calls, fmt.Sprintf("%s from %s to %s", pod.Name, old.Spec.NodeName,
						pod.Spec.NodeName))
				},
			}, func(i informerSink[*corev1.Pod]) {
				i.Replace(pods("node-1"), version)
				synctest.Wait()
				require.NoError(t, i.WaitForSync(t.Context()))
				i.Replace(pods("node-2"), version)
				synctest.Wait()
				stored, _ := i.Store().Get(keyIn("shop", "changed"))
				require.Equal(t, "node-2", stored.Spec.NodeName)
				require.Equal(t, []string{"changed from node-1 to node-2"}, calls)
			})
		})
	}
}

// The object that was changed may be replaced or deleted before the test ends; it was
// still changed.
func TestAChangeOfACachedObjectIsFoundWhenTheObjectGoes(t *testing.T) {
	var found []string
	options := InformerOptions[*corev1.ConfigMap]{DetectMutations: func(was, is *corev1.ConfigMap) {
		found = append(found, fmt.Sprintf("%s: %q is %q", was.Name, was.Data["value"], is.Data["value"]))
	}}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start,
		stop func()) {
		for _, name := range []string{"replaced", "deleted", "honest"} {
			w.create(t, name, nil)
		}
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		synctest.Wait()
		for _, name := range []string{"replaced", "deleted"} {
			cached, _ := i.Store().Get(keyIn(w.namespace, name))
			cached.Data = map[string]string{"value": "mine"}
		}
		w.change(t, "replaced", 1)
		w.change(t, "honest", 1)
		synctest.Wait()
		require.Equal(t, []string{`replaced: "" is "mine"`}, found)
		w.delete(t, "deleted")
		w.delete(t, "honest")
		synctest.Wait()
		require.Equal(t, []string{`replaced: "" is "mine"`, `deleted: "" is "mine"`}, found)
		stop()
		require.Len(t, found, 2, "each is reported once")
	})
}

// A test that hears of a change removes the handler that it suspects.
func TestWhoHearsOfAChangeOfACachedObjectMayRemoveAHandler(t *testing.T) {
	var i informerSink[*corev1.Pod]
	var suspect *Registration
	i = handFed(InformerOptions[*corev1.Pod]{DetectMutations: func(_, _ *corev1.Pod) {
		free := i.mu.TryLock()
		require.True(t, free, "Remove would wait forever")
		i.mu.Unlock()
		suspect.Remove()
	}})
	var err error
	suspect, err = i.AddHandler(HandlerFuncs[*corev1.Pod]{}, HandlerOptions{})
	require.NoError(t, err)
	i.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	cached, _ := i.Store().Get(KeyOf(a1))
	cached.Labels = map[string]string{"whose": "mine"}
	i.Apply(eventOf(watch.Deleted, podAt("a", "2")))
	require.Empty(t, i.listeners)
}

// A cluster had 10,000 Pods for a minute. A Go map never shrinks, so without new maps every
// loop would go through 10,000 empty places from then on.
func TestAListGivesTheMemoryOfThePeakBack(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	pods := smallPods(10_000)
	i.Replace(pods, "1")
	for _, pod := range pods[1:] {
		i.Apply(eventOf(watch.Deleted, pod))
	}
	atPeak := i.store.stored
	i.Replace(pods[:1], "20000")
	require.NotSame(t, atPeak, i.store.stored, "the maps are those of the peak")
	require.Equal(t, 1, i.store.Len())
	byNamespace, _ := i.store.Index(NamespaceIndex)
	require.Equal(t, 1, byNamespace.Count(pods[0].Namespace))
}

// A handler may break the rule in its last call.
func TestAChangeOfACachedObjectInTheLastCallIsFound(t *testing.T) {
	var found []string
	options := InformerOptions[*corev1.ConfigMap]{DetectMutations: func(was,
		_ *corev1.ConfigMap) {
		found = append(found, was.Name)
	}}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start,
		stop func()) {
		add(t, i, HandlerFuncs[*corev1.ConfigMap]{Add: func(c *corev1.ConfigMap, _ bool) {
			time.Sleep(time.Second)
			c.Data = map[string]string{"value": "mine"}
		}}, HandlerOptions{})
		w.create(t, "a", nil)
		start()
		synctest.Wait()
		stop()
		require.Equal(t, []string{"a"}, found)
	})
}

func TestDropManagedFieldsLeavesTheRest(t *testing.T) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	dropped, err := DropManagedFields(object)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "1"}, dropped.Annotations)
	require.Empty(t, object.ManagedFields)
}

var errTooOdd = errors.New("too odd")

// A controller takes a missing object for a deleted one and makes it again; and one
// whose deletion got lost stays forever.
func TestAnObjectWhoseTransformFailsIsStoredAsItCame(t *testing.T) {
	for name, fail := range inorder.Map(map[string]func() (*corev1.ConfigMap, error){
		"with an error":     func() (*corev1.ConfigMap, error) { return nil, errTooOdd },
		"without an object": func() (*corev1.ConfigMap, error) { return nil, nil },
	}) {
		t.Run(name, func(t *testing.T) {
			var failed []*TransformError
			options := InformerOptions[*corev1.ConfigMap]{
				Transform: func(object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
					if object.Name == "odd" || object.Name == "late" {
						return fail()
					}
					return DropManagedFields(object)
				},
				OnTransformError: func(err *TransformError) { failed = append(failed, err) },
			}
			inInformer(t, options, func(t *testing.T, w world, informer *Informer[*corev1.ConfigMap], start,
				stop func()) {
				w.create(t, "even", nil)
				odd := w.create(t, "odd", nil) // comes in the list
				start()
				synctest.Wait()
				late := w.create(t, "late", nil) // comes in a watch event
				synctest.Wait()
				for _, want := range []*corev1.ConfigMap{odd, late} {
					stored, ok := informer.Store().Get(KeyOf(want))
					require.True(t, ok, want.Name)
					require.Equal(t, want, stored)
				}
				even, _ := informer.Store().Get(keyIn(w.namespace, "even"))
				require.Empty(t, even.ManagedFields)
				w.delete(t, "odd")
				synctest.Wait()
				require.Equal(t, 2, informer.Store().Len(), "its deletion arrives, too")
				stop()
				require.Len(t, failed, 3)
				require.Equal(t, KeyOf(odd), failed[0].Key)
				require.Equal(t, odd.ResourceVersion, failed[0].ResourceVersion)
				require.ErrorContains(t, failed[0],
					"transforming ConfigMap "+KeyOf(odd).String()+" at resourceVersion "+odd.ResourceVersion+": ")
				if name == "with an error" {
					require.ErrorIs(t, failed[0], errTooOdd)
				}
			})
		})
	}
}

// Who does not say what to do with an object whose transform failed finds it in the log.
func TestATransformThatFailsIsLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	i := handFed(InformerOptions[*corev1.Pod]{
		Transform: func(*corev1.Pod) (*corev1.Pod, error) { return nil, errTooOdd },
	})
	i.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	require.Contains(t, log.String(), "shop/web at resourceVersion 1: too odd")
	require.Equal(t, 1, i.store.Len())
}

func TestDropManagedFieldsWorksOnObjectsThatCopyTheirMaps(t *testing.T) {
	object := &unstructured.Unstructured{}
	object.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "1"})
	dropped, err := DropManagedFields(object)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "1"}, dropped.GetAnnotations())
}

// A transform may return another object. What it was given must not be what is stored.
func TestWhatATransformReturnsIsWhatIsStored(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
		return podOn(pod.Name, "small"), nil
	}})
	i.Replace([]*corev1.Pod{podOn("listed", "large")}, "1")
	i.Apply(eventOf(watch.Added, podOn("watched", "large")))
	require.Equal(t, 2, i.store.Len())
	for pod := range i.store.All() {
		require.Equal(t, "small", pod.Spec.NodeName, pod.Name)
	}
}
