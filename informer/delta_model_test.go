package informer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// deltaWorld is a server, a reflector that may be cut off, a delta queue, and a
// consumer with a copy.
type deltaWorld struct {
	t       *testing.T
	server  map[Key]*corev1.Pod
	version int
	cutOff  bool
	listed  bool // the queue had its first list
	first   map[Key]bool

	queue    *DeltaQueue[*corev1.Pod]
	copy     *Store[*corev1.Pod]
	batch    Batch[*corev1.Pod]
	synced   bool
	syncWant map[Key]bool // what a resync still owes

	// The events of the watch that the consumer was not told of, if all of them must be told.
	every bool
	owed  []Event[*corev1.Pod]

	// The newest state of each object that the queue was shown, by UID, and the last one that
	// the consumer was told in an update.
	shown   map[types.UID]*corev1.Pod
	updated *corev1.Pod

	// What a program exercised; one that does nothing proves nothing.
	types                                         [5]int
	most, tombstones, restored, changes, tellings int
}

func (w *deltaWorld) tell(kind watch.EventType, pod *corev1.Pod) {
	if !w.cutOff {
		if kind != watch.Deleted {
			w.shown[pod.UID] = pod
		}
		event := Event[*corev1.Pod]{Type: kind, Object: pod, ResourceVersion: strconv.Itoa(w.version)}
		if w.every {
			w.owed = append(w.owed, event)
		}
		w.queue.Apply(event)
	}
}

func (w *deltaWorld) write(name byte) {
	w.version++
	pod := podOn(fmt.Sprintf("pod-%d", name%12), "")
	pod.ResourceVersion = strconv.Itoa(w.version)
	kind := watch.Modified
	if old := w.server[KeyOf(pod)]; old != nil {
		pod.UID = old.UID
	} else {
		kind, pod.UID = watch.Added, types.UID(fmt.Sprint("uid-", w.version))
	}
	w.server[KeyOf(pod)] = pod
	w.tell(kind, pod)
}

func (w *deltaWorld) delete(name byte) {
	key := keyIn("shop", fmt.Sprintf("pod-%d", name%12))
	if pod := w.server[key]; pod != nil {
		w.version++
		delete(w.server, key)
		last := pod.DeepCopy()
		last.ResourceVersion = strconv.Itoa(w.version)
		w.tell(watch.Deleted, last)
	}
}

// list is what a reflector does after it was cut off: the queue must find out by
// itself what has vanished.
func (w *deltaWorld) list() {
	items := slices.SortedFunc(maps.Values(w.server), byName)
	if !w.listed {
		w.listed = true
		for key := range w.server {
			w.first[key] = true
		}
	}
	w.cutOff = false
	for _, pod := range items {
		w.shown[pod.UID] = pod
	}
	w.queue.Replace(items, strconv.Itoa(w.version))
}

// restore changes what the server has under the versions that are known, as a backup
// or another conversion does. Only a list shows it.
func (w *deltaWorld) restore(name byte) {
	key := keyIn("shop", fmt.Sprintf("pod-%d", name%12))
	if pod := w.server[key]; pod != nil {
		changed := pod.DeepCopy()
		changed.Spec.NodeName = fmt.Sprint("restored-", w.restored)
		w.server[key] = changed
		w.restored++
		w.cutOff = true
		w.list()
	}
}

func (w *deltaWorld) pop() bool {
	if !w.queue.Pop(&w.batch) {
		return false
	}
	for _, delta := range w.batch.Deltas {
		w.apply(delta)
	}
	if w.batch.Synced {
		w.synced = true
		require.True(w.t, w.listed, "the consumer was told that the first list is complete before there was a list")
	}
	if w.batch.Resynced {
		for _, key := range slices.SortedFunc(maps.Keys(w.syncWant), func(a, b Key) int { return strings.Compare(a.String(), b.String()) }) {
			_, there := w.copy.Get(key)
			require.False(w.t, there, "%s was not handed over again, but the resync is said to be complete", key)
		}
		clear(w.syncWant)
	}
	if w.batch.ResourceVersion != "" && !w.cutOff && w.listed {
		require.Equal(w.t, strconv.Itoa(w.version), w.batch.ResourceVersion, "the consumer has all there is, so it has reached the server's version")
		w.compare()
	}
	return true
}

// apply checks that the delta is legal for a consumer that has the copy.
func (w *deltaWorld) apply(delta Delta[*corev1.Pod]) {
	t := w.t
	known, has := w.copy.Get(delta.Key)
	require.Equal(t, delta.Type != DeltaAdded, has, "%s was handed over as %s: only what the consumer does not have can be added, and only what it has can be anything else", delta.Key, delta.Type)
	require.Equal(t, known, delta.Old, "Old must be what the consumer has")
	require.Equal(t, delta.Key, KeyOf(delta.Object), "a delta must be about the object of its key")
	delete(w.syncWant, delta.Key)
	w.types[delta.Type]++
	w.settle(delta)
	if delta.FinalStateUnknown {
		w.tombstones++
	}
	switch delta.Type {
	case DeltaAdded:
		w.copy.Put(delta.Object)
	case DeltaUpdated:
		require.Equal(t, known.UID, delta.Object.UID, "an update must be about the object that the consumer has: it does not turn into another one")
		require.GreaterOrEqual(t, number(delta.Object), number(known), "an update must not lead to an older version than the consumer has")
		require.NotEqual(t, known, delta.Object, "an update must change something")
		w.updated = delta.Object
		w.copy.Put(delta.Object)
	case DeltaSync:
		require.Same(t, known, delta.Object, "a Sync must hand over what the consumer has: nothing happened")
	case DeltaDeleted:
		require.Equal(t, known.UID, delta.Object.UID, "a deletion must be about the object that the consumer has")
		require.GreaterOrEqual(t, number(delta.Object), number(known), "the last state of an object must not be older than what the consumer has")
		if !w.every && known != w.shown[known.UID] { // if it is one of many states, settle finds out

			require.Greater(t, number(known), number(w.shown[known.UID]), "the object changed before it went, and the consumer must be told of the change first")
		}
		if known == w.updated && known == delta.Object {
			w.changes++
		}
		w.copy.Delete(delta.Key)
	}
}

// settle notes that the consumer was told of an event, if the delta is about one.
func (w *deltaWorld) settle(delta Delta[*corev1.Pod]) {
	if len(w.owed) == 0 || w.owed[0].Object != delta.Object {
		return // a list
	}
	ended := w.owed[0].Type == watch.Deleted
	require.Equal(w.t, ended, delta.Type == DeltaDeleted, "%s is about the state of a %s event", delta.Type, w.owed[0].Type)
	require.False(w.t, ended && delta.FinalStateUnknown, "the watch has reported the end")
	w.owed = w.owed[1:]
	w.tellings++
}

func number(object metav1.Object) int {
	n, _ := strconv.Atoi(object.GetResourceVersion())
	return n
}

func byName(a, b *corev1.Pod) int { return strings.Compare(KeyOf(a).String(), KeyOf(b).String()) }

func (w *deltaWorld) compare() {
	require.Equal(w.t, len(w.server), w.copy.Len(), "the consumer applied all deltas, and its copy must hold as many objects as the server")
	for _, pod := range slices.SortedFunc(maps.Values(w.server), byName) {
		known, _ := w.copy.Get(KeyOf(pod))
		require.Equal(w.t, pod, known, "the consumer applied all deltas, and its copy of %s must be what the server has", KeyOf(pod))
	}
}

// playDeltas runs a program, two bytes a step. If every is true, the consumer is told of every event.
func playDeltas(t *testing.T, program []byte, every bool) *deltaWorld {
	copy := NewStore[*corev1.Pod](StoreOptions{})
	w := &deltaWorld{
		t: t, server: map[Key]*corev1.Pod{}, copy: copy, cutOff: true, first: map[Key]bool{}, syncWant: map[Key]bool{}, shown: map[types.UID]*corev1.Pod{},
		queue: NewDeltaQueue(copy, DeltaQueueOptions{BatchSize: 3, EveryEvent: every}), every: every,
	}
	for ; len(program) >= 2; program = program[2:] {
		switch b := program[1]; program[0] % 16 {
		case 0, 1, 2, 3, 4:
			w.write(b)
		case 5, 6, 7:
			w.delete(b)
		case 8:
			if w.cutOff = true; b%4 == 0 && w.listed {
				w.restore(b)
			}
		case 9:
			w.list()
		case 10:
			if w.listed && !w.cutOff {
				w.version++
				w.queue.Progress(strconv.Itoa(w.version))
			}
		case 11:
			w.queue.Resync()
			for pod := range w.copy.All() {
				w.syncWant[KeyOf(pod)] = true
			}
		default:
			w.pop()
		}
		// 12 names: a queue that holds more has forgotten to merge or to drop. Of one that holds every
		// event, these are the events, and an entry for lists and resyncs before and after each.
		w.most = max(w.most, w.queue.Len())
		require.LessOrEqual(t, w.queue.Len(), 12+2*len(w.owed), "there are 12 names, so no more keys can have something pending")
	}
	w.list()
	for w.pop() {
	}
	w.compare()
	require.True(t, w.synced, "the first list was handed over, so the consumer must be told that it is complete")
	require.Zero(t, w.queue.Len(), "all was handed over, so nothing may be pending")
	require.Empty(t, w.syncWant, "all that a resync asked for must have been handed over")
	require.Empty(t, w.owed, "the consumer was not told of these events, or not in the order of the watch")
	require.Empty(t, w.queue.buffer.queue.nodes, "all was handed over, and the queue still finds entries by their keys")
	require.Zero(t, w.queue.buffer.initialLeft, "all was handed over, so nothing of the first list may be left")
	require.Zero(t, w.queue.buffer.syncLeft, "all was handed over, so nothing of a resync may be left")
	return w
}

func FuzzDeltas(f *testing.F) {
	f.Add([]byte{9, 0, 0, 1, 12, 0, 8, 0, 5, 1, 0, 1, 9, 0, 12, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, every := range []bool{false, true} {
			playDeltas(t, program[:min(len(program), 600)], every)
		}
	})
}
