package mini_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// changeText is "a: 1 -> 2", with "-" for no object and "(tombstone)".
func changeText(c mini.Change) string {
	value := func(obj mini.Object) string {
		if obj == nil {
			return "-"
		}
		return obj.(*corev1.ConfigMap).Data["value"]
	}
	text := fmt.Sprintf("%s: %s -> %s", c.Object().GetName(), value(c.Old), value(c.New))
	if c.Tombstone {
		text += " (tombstone)"
	}
	return text
}

// changes are the changes that a function was told of.
type changes struct {
	mu  sync.Mutex // guards all
	all []mini.Change
}

func (c *changes) add(change mini.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, change)
}

// took returns the changes since the last took, when nothing moves any more.
func (c *changes) took() (texts []string) {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range c.all {
		texts = append(texts, changeText(change))
	}
	c.all = nil
	return texts
}

// inform runs an informer of the ConfigMaps until the test ends.
func (w *world) inform() (*mini.Informer, *changes) {
	w.Helper()
	got := &changes{}
	i := mini.NewInformer(w.maps(), mini.Indexers{"value": indexByValue}, got.add)
	w.run(i.Run)
	return i, got
}

// blind stops all watches of ConfigMaps for some minutes of the bubble, and makes the
// server forget what happens in that time: afterwards there must be a list. The watch
// must have been started after breakable.
func (w *world) blind(meanwhile func()) {
	repair := w.Server.Inject(
		fakeapi.Fault{Match: watchesOfMaps, Status: fakeapi.Unavailable()})
	time.Sleep(2 * time.Minute)
	meanwhile()
	w.Server.CompactAll()
	repair()
	time.Sleep(5 * time.Minute)
}

// breakable makes the next watch of ConfigMaps end after a minute.
func (w *world) breakable() {
	w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Times: 1, CutAfter: time.Minute})
}

// A handler asks a change for its object, and must not get nil.
//
// Function: Change.Object
func TestTheObjectOfAChangeIsItsNewestState(t *testing.T) {
	a, b := configMap("a", "1"), configMap("a", "2")
	require.Same(t, a, mini.Change{New: a}.Object())
	require.Same(t, b, mini.Change{Old: a, New: b}.Object())
	require.Same(t, a, mini.Change{Old: a}.Object())
}

func TestAnInformerKeepsItsStoreUpToDate(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		i, _ := w.inform()
		synctest.Wait()
		require.Equal(w, []string{"a=1", "b=1"}, namesAndValues(i.List()))
		w.updateMap("a", "2")
		w.deleteMap("b")
		w.createMap("c", "2")
		synctest.Wait()
		require.Equal(w, []string{"a=2", "c=2"}, namesAndValues(i.List()))
		require.Equal(w, []string{"a=2", "c=2"}, withValue(w.T, i.Store, "2"))
		require.Empty(w, withValue(w.T, i.Store, "1"))
	})
}

// A handler has to know whether an object is new, has changed or was deleted.
func TestAnInformerReportsWhatHasChanged(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		_, got := w.inform()
		require.Equal(w, []string{"a: - -> 1"}, got.took(), "at first, every object is new")
		w.createMap("b", "1")
		w.updateMap("a", "2")
		w.deleteMap("b")
		require.Equal(w, []string{"b: - -> 1", "a: 1 -> 2", "b: 1 -> -"}, got.took())
	})
}

// A handler that hears of a new Pod looks it up, and must find it.
func TestTheStoreHasAChangeBeforeItIsReported(t *testing.T) {
	inMemory(t, func(w *world) {
		w.breakable()
		var i *mini.Informer
		told := 0
		i = mini.NewInformer(w.maps(), nil, func(c mini.Change) {
			told++
			if stored := i.Get(mini.KeyOf(c.Object())); stored != c.New {
				w.Errorf("the change is %s, but the store has %s", changeText(c), namesAndValues(i.List()))
			}
		})
		w.createMap("a", "1")
		w.createMap("b", "1")
		w.run(i.Run)
		synctest.Wait()
		w.updateMap("a", "2")
		w.deleteMap("a")
		w.blind(func() { w.deleteMap("b") })
		synctest.Wait()
		require.Equal(w, 5, told, "two new objects, one change, and two deletions")
	})
}

// Function: Informer.Delete
func TestADeletionShowsTheLastStateOfTheObject(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		var last mini.Change
		w.run(mini.NewInformer(w.maps(), nil, func(c mini.Change) { last = c }).Run)
		synctest.Wait()
		w.updateMap("a", "2")
		synctest.Wait()
		stored := last.New.GetResourceVersion()
		w.deleteMap("a")
		synctest.Wait()
		require.True(w, last.New == nil, "callers compare with nil")
		require.Equal(w, "a=2", nameAndValue(last.Old))
		require.NotEqual(w, stored, last.Old.GetResourceVersion(),
			"Old is the object that Delete gets, which is newer than the store's")
		require.False(w, last.Tombstone, "the watch has seen it")
	})
}

func TestADeletionThatNoWatchHasSeenLeavesATombstone(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			w.createMap(name, "1")
		}
		w.breakable()
		i, got := w.inform()
		got.took()
		w.blind(func() {
			w.updateMap("a", "2") // nobody sees this state
			for _, name := range []string{"a", "c", "d", "f"} {
				w.deleteMap(name)
			}
		})
		require.Equal(w, []string{
			"a: 1 -> - (tombstone)", "c: 1 -> - (tombstone)",
			"d: 1 -> - (tombstone)", "f: 1 -> - (tombstone)",
		}, got.took(), "a tombstone for each of the four, in the order of the keys")
		require.Equal(w, []string{"b=1", "e=1"}, namesAndValues(i.List()))
	})
}

// Function: Informer.Replace
func TestANewListReportsOnlyWhatHasChanged(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		w.createMap("c", "1")
		w.breakable()
		_, got := w.inform()
		got.took()
		w.blind(func() {
			w.updateMap("b", "2")
			w.updateMap("b", "3")
			w.createMap("d", "1")
			w.createMap("comes-and-goes", "1")
			w.deleteMap("comes-and-goes")
		})
		require.Equal(w, []string{"b: 1 -> 3", "d: - -> 1"}, got.took())
	})
}

// Function: Informer.notify
func TestARecreatedObjectIsNotAnUpdate(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.breakable()
		i, got := w.inform()
		got.took()
		w.blind(func() {
			w.deleteMap("a")
			w.createMap("a", "2")
		})
		require.Equal(w, []string{"a: 1 -> - (tombstone)", "a: - -> 2"}, got.took(),
			"it's another object, so a controller must forget what it knows about the first")
		require.Equal(w, []string{"a=2"}, namesAndValues(i.List()))
	})
}

// A cluster that was restored from a backup counts on from an older version. What it has now is true, so a controller has to
// hear of it.
//
// Function: Informer.notify
func TestAChangeMayHaveAnOlderVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &changes{}
		i := mini.NewInformer(nil, nil, got.add)
		i.Replace([]mini.Object{mapAt(20, "a", "2"), mapAt(9, "b", "1")}, "20")
		got.took()
		i.Replace([]mini.Object{mapAt(10, "a", "1"), mapAt(9, "b", "1")}, "10")
		require.Equal(t, []string{"a: 2 -> 1"}, got.took())
	})
}

// After a restored backup, another object may get the very version that the old one had. It's another object all the same.
//
// Function: Informer.notify
func TestAnotherUIDIsAnotherObjectWhateverItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &changes{}
		i := mini.NewInformer(nil, nil, got.add)
		first, second := mapAt(20, "a", "1"), mapAt(20, "a", "2")
		first.UID, second.UID = "first", "second"
		i.Replace([]mini.Object{first}, "20")
		i.Replace([]mini.Object{second}, "20")
		require.Equal(t, []string{"a: - -> 1", "a: 1 -> - (tombstone)", "a: - -> 2"}, got.took())
	})
}

// An object that was never reported must not be reported as deleted.
//
// Function: Informer.Delete
func TestADeletionOfAnUnknownObjectIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &changes{}
		i := mini.NewInformer(&script{watch: func(call int, _ string) (watch.Interface, error) {
			if call > 1 {
				return watch.NewFake(), nil
			}
			return streamOf(watch.Event{Type: watch.Deleted, Object: mapAt(2, "a", "1")}), nil
		}}, nil, got.add)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, i.Run(ctx))
		require.Empty(t, got.took())
	})
}

func TestTheFlightRecorderShowsTheInformersReflector(t *testing.T) {
	inMemory(t, func(w *world) {
		i := mini.NewInformer(w.maps(), nil, func(mini.Change) {})
		i.Trace = w.Cluster.Trace
		w.run(i.Run)
		synctest.Wait()
		before := w.Cluster.Trace.Recorded()
		w.createMap("a", "1")
		synctest.Wait()
		require.Greater(w, w.Cluster.Trace.Recorded(), before)
	})
}

// history checks that the changes of each object follow from one another.
type history struct {
	*testing.T
	states map[mini.Request]mini.Object
}

func (h *history) add(c mini.Change) {
	key := mini.KeyOf(c.Object())
	before := h.states[key]
	h.states[key] = c.New
	switch {
	case c.New == nil && before == nil:
		h.Errorf("%s: it had already been deleted", changeText(c))
	case c.New == nil && c.Old.GetUID() != before.GetUID():
		h.Errorf("%s: this was another object", changeText(c))
	case c.New == nil && c.Tombstone && c.Old != before:
		h.Errorf("%s: the last known state was %s", changeText(c), nameAndValue(before))
	case c.New != nil && c.Old != before:
		h.Errorf("%s: not the state that was reported before, %v", changeText(c), before)
	case c.New != nil && c.Old != nil && c.Old.GetUID() != c.New.GetUID():
		h.Errorf("%s: these are two objects", changeText(c))
	case c.New != nil && c.Old != nil && c.Old.GetResourceVersion() == c.New.GetResourceVersion():
		h.Errorf("%s: nothing has changed", changeText(c))
	}
}

func TestChangesFollowFromOneAnotherWhateverFails(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			// What the server has. Each step changes it; some of them are seen by no watch.
			server, version := map[string]*corev1.ConfigMap{}, 1
			step := func() watch.Event {
				version++
				name := strconv.Itoa(random.IntN(4))
				obj, event := mapAt(version, name, strconv.Itoa(version)), watch.Modified
				if before := server[name]; before == nil {
					obj.UID, event = types.UID(strconv.Itoa(version)), watch.Added
				} else if obj.UID = before.UID; random.IntN(2) == 0 {
					event = watch.Deleted
				}
				server[name] = obj
				if event == watch.Deleted {
					delete(server, name)
				}
				return watch.Event{Type: event, Object: obj}
			}
			source := &script{
				list: func(int) (items []mini.Object, at string, err error) {
					if random.IntN(4) == 0 {
						return nil, "", errors.New("not now")
					}
					for range random.IntN(6) {
						step()
					}
					for _, obj := range server {
						items = append(items, obj)
					}
					return items, strconv.Itoa(version), nil
				},
				watch: func(int, string) (watch.Interface, error) {
					var events []watch.Event
					for range random.IntN(6) {
						events = append(events, step())
					}
					if random.IntN(2) == 0 {
						events = append(events,
							watch.Event{Type: watch.Error, Object: fakeapi.Expired()})
					}
					return streamOf(events...), nil
				},
			}
			h := &history{T: t, states: map[mini.Request]mini.Object{}}
			i := mini.NewInformer(source, nil, h.add)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			require.NoError(t, i.Run(ctx))
			for key, obj := range h.states {
				require.True(t, i.Get(key) == obj,
					"seed %d: the store has something else for %s", seed, key)
			}
		})
	}
}
