package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// life is an object from its beginning to its end, as the model sees it: it keeps
// all that a listener has not been told, and merges nothing.
type life struct {
	name                            byte
	known, now                      *corev1.Pod // what the listener was told, and what is true
	ended, unseen, initial, hasNews bool
}

// call is what the listener must be told about a life.
func (l *life) call() string {
	switch {
	case l.ended:
		return fmt.Sprintf("delete %s %v", podName(l.now), l.unseen)
	case l.known == nil:
		return fmt.Sprintf("add %s %v", podName(l.now), l.initial)
	default:
		return fmt.Sprintf("update %s %s", podName(l.known), podName(l.now))
	}
}

func podName(pod *corev1.Pod) string { return string(pod.UID) + pod.ResourceVersion }

// backlogWorld is an informer's store, the backlog of one of its listeners, and the
// lives that the listener must hear of, in the order in which they had news.
type backlogWorld struct {
	t       *testing.T
	store   *Store[*corev1.Pod]
	backlog notificationQueue[*corev1.Pod]
	there   map[byte]*life
	news    []*life
	version int

	// What a program exercised; one that does nothing proves nothing.
	most, moves, replaced, merged, vanished int
}

func (w *backlogWorld) note(where slotChange, l *life, delta Delta[*corev1.Pod]) {
	delta.Key, l.now = KeyOf(delta.Object), delta.Object
	length := w.backlog.len()
	w.backlog.add(where, delta)
	if where.frees && where.freed != where.at {
		w.moves++
	}
	if w.backlog.len() < length {
		w.vanished++
	}
	w.most = max(w.most, w.backlog.len())
	if !l.hasNews {
		l.hasNews = true
		w.news = append(w.news, l)
	}
	if l.ended && l.known == nil {
		w.news = slices.DeleteFunc(w.news, func(other *life) bool { return other == l })
	}
}

// write makes an object, or changes it.
func (w *backlogWorld) write(name byte, initial bool) {
	w.version++
	pod := podOn(fmt.Sprint("pod-", name), "")
	pod.ResourceVersion = "v" + strconv.Itoa(w.version)
	old, existed := w.store.Get(KeyOf(pod))
	existed = existed && w.there[name] != nil // otherwise it is the one that this one replaces
	delta := Delta[*corev1.Pod]{Type: DeltaUpdated, Object: pod, Old: old}
	if existed {
		pod.UID = old.UID
	} else {
		pod.UID = types.UID(strconv.Itoa(w.version))
		delta.Type, delta.Initial = DeltaAdded, initial
		w.there[name] = &life{name: name, initial: initial}
	}
	w.store.Put(pod)
	w.note(slotChange{at: w.store.slotOf(KeyOf(pod))}, w.there[name], delta)
}

// delete ends an object. another says that one of the same name follows: the informer
// replaces it in the store then, and no slot becomes free.
func (w *backlogWorld) delete(name byte, unseen, another bool) {
	if l := w.there[name]; l != nil {
		w.version++
		last := l.now.DeepCopy()
		last.ResourceVersion = "v" + strconv.Itoa(w.version)
		at := w.store.slotOf(KeyOf(last))
		where := slotChange{at: at}
		if !another {
			_, where.frees = w.store.Delete(KeyOf(last))
			where.freed = slot(w.store.Len())
		}
		delete(w.there, name)
		old := l.now
		l.ended, l.unseen = true, unseen
		w.note(where, l, Delta[*corev1.Pod]{Type: DeltaDeleted, Object: last, Old: old, FinalStateUnknown: unseen})
	}
}

func (w *backlogWorld) resync(name byte) {
	if l := w.there[name]; l != nil {
		w.note(slotChange{at: w.store.slotOf(KeyOf(l.now))}, l, Delta[*corev1.Pod]{Type: DeltaSync, Object: l.now, Old: l.now})
	}
}

// take compares what the listener is told with the lives that have waited longest.
// Another object of the same name may come in the same notification.
func (w *backlogWorld) take(most int) {
	for _, untold := range w.backlog.take(nil, most) {
		require.NotEmpty(w.t, w.news, "a notification that is no news")
		first := w.news[0]
		want := heard{w.tell(first)}
		if next := w.there[first.name]; first.ended && next != nil && untold.exists {
			want = append(want, w.tell(next))
			w.merged++
		}
		var told heard
		untold.deliver(told.handler())
		require.Equal(w.t, want, told)
	}
}

func (w *backlogWorld) tell(l *life) string {
	call := l.call()
	l.known, l.hasNews = l.now, false
	w.news = slices.DeleteFunc(w.news, func(other *life) bool { return other == l })
	return call
}

func (w *backlogWorld) check() {
	initial := 0
	for _, l := range w.news {
		if l.initial && l.known == nil {
			initial++
		}
	}
	require.Equal(w.t, initial, w.backlog.initial)
	require.LessOrEqual(w.t, w.backlog.len(), len(w.news), "there are more places than objects with news")
	require.LessOrEqual(w.t, len(w.news), 16, "the model itself is bounded: 8 objects that are known, and 8 that are there")
}

// playBacklog runs a program, a byte a step.
func playBacklog(t *testing.T, program []byte) *backlogWorld {
	w := &backlogWorld{t: t, store: NewStore[*corev1.Pod](StoreOptions{}), there: map[byte]*life{}}
	for _, step := range program {
		switch name := step >> 5; step & 15 {
		case 0, 1, 2, 3:
			w.write(name, false)
		case 4:
			w.write(name, true)
		case 5, 6, 7:
			w.delete(name, step&16 != 0, false)
		case 8: // another object takes the name, with nothing in between
			if w.there[name] != nil {
				w.replaced++
				w.delete(name, true, true)
				w.write(name, false)
			}
		case 9:
			w.resync(name)
		case 10, 11:
			w.take(int(name))
		}
		w.check()
	}
	w.take(100)
	require.Empty(t, w.news, "the listener has not been told everything")
	require.Zero(t, w.backlog.len())
	return w
}

// Whatever happens while a listener takes breaks, it is told of each object what it
// must be told, in the order in which they had news.
func TestABacklogTellsWhatAListOfEverythingWouldTell(t *testing.T) {
	var most, moves, replaced, merged, vanished int
	for seed := range uint64(400) {
		program := make([]byte, 300)
		random := rand.New(rand.NewPCG(seed, 6))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := playBacklog(t, program)
			most, moves = max(most, w.most), moves+w.moves
			replaced, merged, vanished = replaced+w.replaced, merged+w.merged, vanished+w.vanished
		}) {
			return
		}
	}
	require.GreaterOrEqual(t, most, 8, "the queue was never long")
	require.Greater(t, moves, 1000, "hardly any object moved to another slot while its news waited")
	require.Greater(t, replaced, 1000, "hardly any object was replaced by another one of its name")
	require.Greater(t, merged, 500, "hardly ever an end and a beginning were told together")
	require.Greater(t, vanished, 500, "hardly any object came and went unheard")
}

func FuzzBacklog(f *testing.F) {
	f.Add([]byte{0x00, 0x20, 0x2a, 0x05, 0x25, 0x20, 0x00, 0x6a})
	f.Fuzz(func(t *testing.T, program []byte) { playBacklog(t, program[:min(len(program), 600)]) })
}
