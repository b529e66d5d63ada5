package fakeapi

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

var things = schema.GroupResource{Resource: "things"}

func putThing(s *store, key string, ls labels.Set) *change {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key, Labels: ls}}
	return s.put(things, key, obj, ls, fields.Set{"metadata.name": key})
}

var everything = selection{labels: labels.Everything(), fields: fields.Everything()}

func keysOf(p page) []string {
	var out []string
	for _, v := range p.items {
		out = append(out, metaOf(v.obj).GetName())
	}
	return out
}

func TestEveryWriteTakesTheNextVersionWhateverItsKind(t *testing.T) {
	s := newStore(10)
	first := putThing(s, "a", nil)
	other := s.put(schema.GroupResource{Resource: "others"}, "x", &corev1.Secret{}, nil, nil)
	gone := s.remove(things, "a")
	require.Equal(t, []uint64{first.rv + 1, first.rv + 2}, []uint64{other.rv, gone.rv})
	require.Equal(t, gone.rv, s.rv)
	require.Nil(t, s.remove(things, "a"), "there is nothing left to remove")
	require.Equal(t, gone.rv, s.rv, "so there is no new version")
}

func TestADeletedObjectIsShownWithTheVersionOfItsDeletion(t *testing.T) {
	s := newStore(10)
	putThing(s, "a", nil)
	gone := s.remove(things, "a")
	require.Equal(t, fmt.Sprint(gone.rv), metaOf(gone.departure().obj).GetResourceVersion())
	require.NotEqual(t, fmt.Sprint(gone.rv), metaOf(gone.before.obj).GetResourceVersion(), "the stored version is not touched")
}

func TestTheWatchWindowForgetsTheOldestChangesFirst(t *testing.T) {
	s := newStore(3)
	var rvs []uint64
	for i := range 5 {
		rvs = append(rvs, putThing(s, fmt.Sprint(i), nil).rv)
	}
	_, ok := s.table(things).since(rvs[0])
	require.False(t, ok, "the change after it is forgotten")
	changes, ok := s.table(things).since(rvs[1])
	require.True(t, ok)
	require.Len(t, changes, 3)
	changes, ok = s.table(things).since(s.rv)
	require.True(t, ok)
	require.Empty(t, changes)
}

func TestCompactionRefusesReadersThatStartButNotThoseThatFollow(t *testing.T) {
	s := newStore(10)
	quiet := s.table(schema.GroupResource{Resource: "quiet"})
	before := s.rv
	putThing(s, "a", nil)
	s.compact(s.rv)
	require.False(t, s.remembers(quiet, before), "nothing changed there, but the past is gone all the same")
	_, ok := quiet.since(before)
	require.True(t, ok, "who follows a quiet table has missed nothing")
	require.True(t, s.remembers(quiet, s.rv))
}

// The model is a copy of the table after every single write.
func TestASnapshotOfThePastIsWhatWasThereThen(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newStore(40)
		past := map[uint64]map[string]*version{s.rv: {}}
		for range 100 {
			key := fmt.Sprintf("%c", 'a'+rune(random.IntN(8)))
			if random.IntN(3) == 0 {
				s.remove(things, key)
			} else {
				putThing(s, key, nil)
			}
			past[s.rv] = maps.Clone(s.table(things).live)
		}
		known := 0
		for rv, want := range past {
			snap, ok := s.table(things).asOf(rv)
			require.Equal(t, rv >= s.table(things).forgotten, ok)
			if !ok {
				continue
			}
			known++
			require.True(t, slices.IsSorted(snap.keys))
			require.Equal(t, slices.Sorted(maps.Keys(want)), append([]string(nil), snap.keys...), "seed %d, version %d", seed, rv)
			for key, v := range want {
				require.Same(t, v, snap.at(key))
			}
		}
		require.Greater(t, known, 20, "the test must reach back")
	}
}

func TestPagesTogetherAreTheWholeList(t *testing.T) {
	s := newStore(10)
	for i := range 7 {
		putThing(s, fmt.Sprintf("ns/%d", i), labels.Set{"odd": fmt.Sprint(i%2 == 1)})
	}
	putThing(s, "other/0", nil)
	for _, limit := range []int64{1, 2, 3, 6, 7, 8} {
		for _, sel := range []selection{
			{prefix: "ns/", labels: labels.Everything(), fields: fields.Everything()},
			{prefix: "ns/", labels: labels.SelectorFromSet(labels.Set{"odd": "true"}), fields: fields.Everything()},
		} {
			want := keysOf(s.table(things).now().page(sel, "", 0))
			var got []string
			start := ""
			for pages := 0; ; pages++ {
				require.Less(t, pages, 10)
				p := s.table(things).now().page(sel, start, limit)
				got = append(got, keysOf(p)...)
				if p.next == "" {
					break
				}
				rv, key, err := decodeToken(encodeToken(5, sel.prefix, p.next), sel.prefix)
				require.NoError(t, err)
				require.EqualValues(t, 5, rv)
				start = key
			}
			require.Equal(t, want, got, "limit %d", limit)
		}
	}
}

func TestATokenCannotReachIntoAnotherNamespace(t *testing.T) {
	_, key, err := decodeToken(encodeToken(5, "mine/", "mine/a"), "yours/")
	require.NoError(t, err)
	require.Equal(t, "yours/a", key)
}

func TestWhatAChangeMeansDependsOnWhatTheWatcherCouldSee(t *testing.T) {
	s := newStore(10)
	watcher := selection{labels: labels.SelectorFromSet(labels.Set{"seen": "yes"}), fields: fields.Everything()}
	yes, no := labels.Set{"seen": "yes"}, labels.Set{"seen": "no"}
	steps := []struct {
		change *change
		want   watch.EventType
	}{
		{putThing(s, "a", no), ""},
		{putThing(s, "a", yes), watch.Added},
		{putThing(s, "a", yes), watch.Modified},
		{putThing(s, "a", no), watch.Deleted},
		{s.remove(things, "a"), ""},
		{putThing(s, "b", yes), watch.Added},
		{s.remove(things, "b"), watch.Deleted},
	}
	for i, step := range steps {
		e, ok := seen(step.change, watcher)
		require.Equal(t, step.want != "", ok, "step %d", i)
		require.Equal(t, step.want, e.kind, "step %d", i)
		if e.kind == watch.Deleted {
			require.Equal(t, "yes", metaOf(e.of.obj).GetLabels()["seen"], "the content is the last that the watcher could see")
			require.Equal(t, step.change.rv, e.of.rv)
		}
	}
}

func TestSelectorsOfOneNamespaceSeeNoOther(t *testing.T) {
	s := newStore(10)
	for _, key := range []string{"a/x", "a-b/x", "ab/x", "a/y"} {
		putThing(s, key, nil)
	}
	sel := everything
	sel.prefix = "a/"
	require.Equal(t, []string{"a/x", "a/y"}, keysOf(s.table(things).now().page(sel, "", 0)))
	require.Equal(t, []string{"a-b/x", "a/x", "a/y", "ab/x"}, keysOf(s.table(things).now().page(everything, "", 0)), "lists are in byte order of the keys")
}
