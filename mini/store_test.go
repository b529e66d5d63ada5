package mini_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/mini"
)

// indexByValue finds ConfigMaps by their value. An empty one is not in the index.
func indexByValue(obj mini.Object) []string {
	if value := obj.(*corev1.ConfigMap).Data["value"]; value != "" {
		return []string{value}
	}
	return nil
}

// newStore returns a store with the index "value".
func newStore() *mini.Store { return mini.NewStore(mini.Indexers{"value": indexByValue}) }

// mapKey names a ConfigMap in the namespace default.
func mapKey(name string) mini.Request { return mini.Request{Namespace: "default", Name: name} }

// withValue returns the ConfigMaps "name=value" that have the value.
func withValue(t *testing.T, s *mini.Store, value string) []string {
	t.Helper()
	objs, err := s.ByIndex("value", value)
	require.NoError(t, err)
	return namesAndValues(objs)
}

func TestAnObjectsKeyIsItsNamespaceAndName(t *testing.T) {
	require.Equal(t, mini.Request{Namespace: "default", Name: "a"}, mini.KeyOf(configMap("a", "")))
}

// A controller reads what the watch has brought.
func TestAStoreReturnsWhatWasStored(t *testing.T) {
	s := newStore()
	a := configMap("a", "1")
	s.Update(a)
	require.Same(t, a, s.Get(mapKey("a")))
	elsewhere := configMap("a", "2")
	elsewhere.Namespace = "elsewhere"
	s.Update(elsewhere)
	require.Same(t, a, s.Get(mapKey("a")), "another namespace may have the same name")
	require.Same(t, elsewhere, s.Get(mini.KeyOf(elsewhere)))
}

// Function: Store.Get
func TestAnAbsentObjectIsNil(t *testing.T) {
	s := newStore()
	require.True(t, s.Get(mapKey("a")) == nil, "callers compare with nil")
	require.Empty(t, s.List())
	s.Update(configMap("a", "1"))
	s.Delete(mapKey("a"))
	require.True(t, s.Get(mapKey("a")) == nil, "it was deleted")
	require.Empty(t, s.List())
}

// To see what has changed, you need the previous state.
//
// Function: Store.Update
func TestUpdateReturnsTheObjectThatItReplaces(t *testing.T) {
	s := newStore()
	first, second := configMap("a", "1"), configMap("a", "2")
	require.True(t, s.Update(first) == nil, "there was none")
	require.Same(t, first, s.Update(second))
	require.Same(t, second, s.Get(mapKey("a")))
	require.Len(t, s.List(), 1)
}

// Function: Store.Delete
func TestDeleteReturnsTheObjectThatItRemoves(t *testing.T) {
	s := newStore()
	require.True(t, s.Delete(mapKey("a")) == nil, "there was none")
	a := configMap("a", "1")
	s.Update(a)
	s.Update(configMap("b", "1"))
	require.Same(t, a, s.Delete(mapKey("a")))
	require.True(t, s.Delete(mapKey("a")) == nil, "it was deleted")
	require.Equal(t, []string{"b=1"}, namesAndValues(s.List()), "nothing else is deleted")
}

// Go's maps have a different order each time, and so would every decision that's based on
// a list.
func TestAListIsSortedByNamespaceAndName(t *testing.T) {
	s := newStore()
	var want []mini.Object
	for _, namespace := range []string{"a", "ab", "b"} {
		for _, name := range []string{"x", "xy", "y"} {
			obj := configMap(name, "same")
			obj.Namespace = namespace
			want = append(want, obj)
		}
	}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(want)) {
		s.Update(want[i])
	}
	require.Equal(t, want, s.List())
	objs, err := s.ByIndex("value", "same")
	require.NoError(t, err)
	require.Equal(t, want, objs)
}

func TestAnIndexFindsObjectsByTheirValue(t *testing.T) {
	s := newStore()
	for _, obj := range []mini.Object{
		configMap("a", "red"), configMap("b", "blue"), configMap("c", "red"),
		configMap("d", ""),
	} {
		s.Update(obj)
	}
	require.Equal(t, []string{"a=red", "c=red"}, withValue(t, s, "red"))
	require.Equal(t, []string{"b=blue"}, withValue(t, s, "blue"))
	require.Empty(t, withValue(t, s, "green"))
	require.Empty(t, withValue(t, s, ""), "the index function has no value for d")
}

// A Pod stays on its node and becomes ready. If you then ask for the Pods of the node, you want the ready one.
//
// Function: Store.Update
func TestAnIndexHasTheNewestStateEvenIfTheValueStays(t *testing.T) {
	s := newStore()
	s.Update(configMap("a", "red"))
	newest := configMap("a", "red")
	s.Update(newest)
	objs, err := s.ByIndex("value", "red")
	require.NoError(t, err)
	require.Len(t, objs, 1)
	require.Same(t, newest, objs[0])
}

// A Pod that has moved to another node must not be found on the old one.
//
// Function: Store.Update
func TestAnUpdatedObjectIsFoundByItsNewValueOnly(t *testing.T) {
	s := newStore()
	s.Update(configMap("a", "red"))
	s.Update(configMap("b", "red"))
	s.Update(configMap("a", "blue"))
	require.Equal(t, []string{"b=red"}, withValue(t, s, "red"))
	require.Equal(t, []string{"a=blue"}, withValue(t, s, "blue"))
	s.Update(configMap("a", "blue"))
	require.Equal(t, []string{"a=blue"}, withValue(t, s, "blue"))
	s.Update(configMap("a", ""))
	require.Empty(t, withValue(t, s, "blue"))
}

// An index that keeps deleted objects shows Pods that no longer exist.
//
// Function: Store.Delete
func TestADeletedObjectIsInNoIndex(t *testing.T) {
	s := newStore()
	s.Update(configMap("a", "red"))
	s.Update(configMap("b", "red"))
	s.Delete(mapKey("a"))
	require.Equal(t, []string{"b=red"}, withValue(t, s, "red"))
	s.Delete(mapKey("b"))
	require.Empty(t, withValue(t, s, "red"))
	s.Update(configMap("c", "red"))
	require.Equal(t, []string{"c=red"}, withValue(t, s, "red"), "the value can come back")
}

// Function: Store.deleteLocked
func TestAnIndexDoesNotGrowWithValuesThatNoObjectHasAnyMore(t *testing.T) {
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	s := newStore()
	before := heap()
	for i := range 20_000 {
		s.Update(configMap("a", strconv.Itoa(i)))
	}
	require.Less(t, heap()-before, int64(3<<20), "bytes: one empty map a value is 8 MB")
	runtime.KeepAlive(s)
}

func TestAStoreMayHaveSeveralIndicesWithSeveralValues(t *testing.T) {
	s := mini.NewStore(mini.Indexers{
		"letter": func(obj mini.Object) (all []string) {
			for _, letter := range obj.GetName() {
				all = append(all, string(letter))
			}
			return all
		},
		"length": func(obj mini.Object) []string {
			return []string{strconv.Itoa(len(obj.GetName()))}
		},
	})
	find := func(index, value string) (names []string) {
		objs, err := s.ByIndex(index, value)
		require.NoError(t, err)
		for _, obj := range objs {
			names = append(names, obj.GetName())
		}
		return names
	}
	s.Update(configMap("ab", ""))
	s.Update(configMap("bc", ""))
	s.Update(configMap("b", ""))
	require.Equal(t, []string{"ab"}, find("letter", "a"))
	require.Equal(t, []string{"ab", "b", "bc"}, find("letter", "b"))
	require.Equal(t, []string{"ab", "bc"}, find("length", "2"))
	s.Delete(mapKey("ab"))
	require.Empty(t, find("letter", "a"))
	require.Equal(t, []string{"b", "bc"}, find("letter", "b"))
	require.Equal(t, []string{"bc"}, find("length", "2"))
}

// Function: Store.ByIndex
func TestAnIndexThatDoesNotExistIsAnError(t *testing.T) {
	for _, s := range []*mini.Store{newStore(), mini.NewStore(nil)} {
		objs, err := s.ByIndex("colour", "red")
		require.ErrorContains(t, err, "colour", "an empty answer would hide the typo")
		require.Nil(t, objs)
		s.Update(configMap("a", "1")) // would wait forever for a lock that ByIndex has kept
	}
}

// An object that a new list lacks was deleted.
//
// Function: Store.Replace
func TestReplaceMakesTheNewObjectsTheOnlyOnes(t *testing.T) {
	s := newStore()
	a, b := configMap("a", "red"), configMap("b", "red")
	s.Update(a)
	s.Update(b)
	old := s.Replace([]mini.Object{configMap("b", "blue"), configMap("c", "red")})
	require.Equal(t, map[mini.Request]mini.Object{mapKey("a"): a, mapKey("b"): b}, old)
	require.Equal(t, []string{"b=blue", "c=red"}, namesAndValues(s.List()))
	require.Equal(t, []string{"c=red"}, withValue(t, s, "red"))
	require.Equal(t, []string{"b=blue"}, withValue(t, s, "blue"))
	s.Replace(nil)
	require.Empty(t, s.List())
	require.Empty(t, withValue(t, s, "red"), "the index still exists, and it's empty")
}

// Function: Store.Replace
func TestWhatReplaceReturnedBelongsToTheCaller(t *testing.T) {
	s := newStore()
	s.Update(configMap("a", "1"))
	old := s.Replace([]mini.Object{configMap("b", "1")})
	old[mapKey("c")] = configMap("c", "1")
	clear(old)
	require.Equal(t, []string{"b=1"}, namesAndValues(s.List()))
}

// Every state that a writer makes has one colour and 50 objects.
func TestAReaderSeesAllOldObjectsOrAllNewOnes(t *testing.T) {
	s := newStore()
	state := func(round int) (objs []mini.Object) {
		value := []string{"red", "blue"}[round%2]
		for i := range 50 {
			objs = append(objs, configMap(fmt.Sprintf("%s-%d", value, i), value))
		}
		return objs
	}
	s.Replace(state(0))
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for round := range 40 {
				s.Replace(state(round))
				runtime.Gosched()
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for {
				all := namesAndValues(s.List())
				value := all[0][strings.Index(all[0], "=")+1:]
				mixed := slices.ContainsFunc(all, func(one string) bool {
					return !strings.HasSuffix(one, "="+value)
				})
				objs, err := s.ByIndex("value", "red")
				if len(all) != 50 || mixed || err != nil || len(objs)%50 != 0 {
					t.Errorf("a half replaced store: %d objects, mixed: %v; %d by index; %v",
						len(all), mixed, len(objs), err)
				}
				s.Get(mapKey("red-1"))
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// Two readers come while a new list replaces the old one. If one of them finds a Pod in the store, and the other doesn't find
// it on its node, a controller decides about a cluster that has never existed.
//
// Function: Store.Replace
func TestReplaceChangesObjectsAndIndicesInOneStep(t *testing.T) {
	s := newStore()
	s.Update(configMap("a", "red"))
	mu := rwMutexOf(t, s)
	mu.RLock()
	var all, red []mini.Object
	var calls sync.WaitGroup
	waiting := locksAwaited()
	for _, call := range []func(){
		func() { s.Replace([]mini.Object{configMap("b", "red")}) },
		// Go lets these two in as soon as Replace releases the lock, for the first time or for good.
		func() { all = s.List() },
		func() { red, _ = s.ByIndex("value", "red") },
	} {
		calls.Go(call)
		untilALockIsAwaited(waiting, func() bool { return false })
		waiting++
	}
	mu.RUnlock()
	calls.Wait()
	require.Equal(t, namesAndValues(all), namesAndValues(red), "the objects in the store, and those in the index")
}

// A reader that lets go of the lock too early walks through a map that a writer changes, and Go ends the program.
func TestEachMethodOfAStoreHoldsTheLockUntilItIsDone(t *testing.T) {
	calls := []func(*mini.Store){
		func(s *mini.Store) { s.Get(mapKey("a")) },
		func(s *mini.Store) { s.List() },
		func(s *mini.Store) { _, _ = s.ByIndex("value", "red") },
		func(s *mini.Store) { s.Update(configMap("b", "red")) },
		func(s *mini.Store) { s.Delete(mapKey("a")) },
		func(s *mini.Store) { s.Replace([]mini.Object{configMap("c", "red")}) },
	}
	for range 10 {
		for _, first := range calls { // every two, in both orders: the race detector checks
			for _, second := range calls {
				s := newStore()
				s.Update(configMap("a", "red"))
				var both sync.WaitGroup
				both.Go(func() { first(s) })
				both.Go(func() { second(s) })
				both.Wait()
			}
		}
	}
}

func TestAStoreIsUsedFromSeveralGoroutines(t *testing.T) {
	s := newStore()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			mine := strconv.Itoa(i)
			for range 100 {
				s.Update(configMap(mine, mine))
				objs, err := s.ByIndex("value", mine)
				if err != nil || len(objs) != 1 || s.Get(mapKey(mine)) == nil {
					t.Errorf("a goroutine doesn't see its own object: %v, %v", objs, err)
				}
				s.List()
				if s.Delete(mapKey(mine)) == nil {
					t.Error("a goroutine's own object has vanished")
				}
			}
		})
	}
	all.Wait()
	require.Empty(t, s.List())
}

// Walking through a map gives the same answers as the store, only more slowly.
func TestAStoreAgreesWithAMap(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		s, model := newStore(), map[mini.Request]mini.Object{}
		some := func() mini.Object {
			return configMap(strconv.Itoa(random.IntN(8)), strconv.Itoa(random.IntN(3)))
		}
		for range 60 {
			obj := some()
			key := mini.KeyOf(obj)
			switch random.IntN(8) {
			case 0:
				var items []mini.Object
				next := map[mini.Request]mini.Object{}
				for range random.IntN(10) {
					if obj := some(); next[mini.KeyOf(obj)] == nil {
						next[mini.KeyOf(obj)] = obj
						items = append(items, obj)
					}
				}
				require.Equal(t, model, s.Replace(items))
				model = next
			case 1, 2, 3:
				require.Equal(t, model[key], s.Delete(key))
				delete(model, key)
			default:
				require.Equal(t, model[key], s.Update(obj))
				model[key] = obj
			}
			var all []string
			byValue := map[string][]string{}
			for _, obj := range model {
				value := obj.(*corev1.ConfigMap).Data["value"]
				all = append(all, nameAndValue(obj))
				byValue[value] = append(byValue[value], nameAndValue(obj))
			}
			require.ElementsMatch(t, all, namesAndValues(s.List()))
			for value := range 3 {
				value := strconv.Itoa(value)
				require.ElementsMatch(t, byValue[value], withValue(t, s, value))
			}
		}
	}
}
