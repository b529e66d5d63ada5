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

// life is an object from its beginning to its end, as the model of a queue that coalesces sees it: it
// keeps all that a listener has not been told, and merges nothing.
type life struct {
	name                            byte
	known, now                      *corev1.Pod // what the listener was told, and what is true
	ended, unseen, initial, hasNews bool
	changed                         bool // the listener has not been told its newest state
}

// calls are what the listener must be told about a life.
func (l *life) calls() (calls heard) {
	switch {
	case l.known == nil:
		calls = append(calls, fmt.Sprintf("add %s %v", podName(l.now), l.initial))
	case l.changed || !l.ended:
		calls = append(calls, fmt.Sprintf("update %s %s", podName(l.known), podName(l.now)))
	}
	if l.ended {
		calls = append(calls, fmt.Sprintf("delete %s %v", podName(l.now), l.unseen))
	}
	return calls
}

func podName(pod *corev1.Pod) string { return string(pod.UID) + pod.ResourceVersion }

// backlogWorld is two backlogs that get the same deltas, and their models. For the one that
// coalesces, the model is the lives that the listener must hear of, in the order in which they had
// news. For the other it is a list of calls.
type backlogWorld struct {
	t       *testing.T
	backlog *notificationQueue[*corev1.Pod]
	there   map[byte]*life
	news    []*life
	version int

	every notificationQueue[*corev1.Pod]
	calls heard
	marks []bool // of each call, whether it adds an object of the initial list

	// What a program exercised; one that does nothing proves nothing.
	most, mostOfAll, replaced, merged, passed, silent, changed int
}

func (w *backlogWorld) note(l *life, delta Delta[*corev1.Pod]) {
	delta.Key, l.now = KeyOf(delta.Object), delta.Object
	w.backlog.add(delta)
	w.every.add(delta)
	var told heard
	switch handler := told.handler(); delta.Type {
	case DeltaAdded:
		handler.OnAdd(delta.Object, delta.Initial)
	case DeltaDeleted:
		handler.OnDelete(delta.Object, delta.FinalStateUnknown)
	default:
		handler.OnUpdate(delta.Old, delta.Object)
	}
	w.calls, w.marks = append(w.calls, told...), append(w.marks, delta.Type == DeltaAdded && delta.Initial)
	w.most, w.mostOfAll = max(w.most, w.backlog.len()), max(w.mostOfAll, w.every.len())
	if !l.hasNews {
		l.hasNews = true
		w.news = append(w.news, l)
	}
	if l.ended && l.known == nil {
		first := slices.IndexFunc(w.news, func(other *life) bool { return other.name == l.name })
		if w.news[first] != l { // the end of another one of that name has to be told, and that is enough
			w.silent++
			w.news = slices.DeleteFunc(w.news, func(other *life) bool { return other == l })
		}
	}
}

// write makes an object, or changes it.
func (w *backlogWorld) write(name byte, initial bool) {
	w.version++
	pod := podOn(fmt.Sprint("pod-", name), "")
	pod.ResourceVersion = "v" + strconv.Itoa(w.version)
	if l := w.there[name]; l != nil {
		pod.UID, l.changed = l.now.UID, true
		w.note(l, Delta[*corev1.Pod]{Type: DeltaUpdated, Object: pod, Old: l.now})
		return
	}
	pod.UID = types.UID(strconv.Itoa(w.version))
	w.there[name] = &life{name: name, initial: initial}
	w.note(w.there[name], Delta[*corev1.Pod]{Type: DeltaAdded, Object: pod, Initial: initial})
}

// delete ends an object.
func (w *backlogWorld) delete(name byte, unseen bool) {
	if l := w.there[name]; l != nil {
		w.version++
		last := l.now.DeepCopy()
		last.ResourceVersion = "v" + strconv.Itoa(w.version)
		delete(w.there, name)
		old := l.now
		l.ended, l.unseen = true, unseen
		w.note(l, Delta[*corev1.Pod]{Type: DeltaDeleted, Object: last, Old: old, FinalStateUnknown: unseen})
	}
}

func (w *backlogWorld) resync(name byte) {
	if l := w.there[name]; l != nil {
		w.note(l, Delta[*corev1.Pod]{Type: DeltaSync, Object: l.now, Old: l.now})
	}
}

// take compares what the listener is told with the names that have waited longest. An object that
// has ended, and the one that has its name now, come together.
func (w *backlogWorld) take(most int) {
	for _, untold := range w.backlog.take(nil, most) {
		require.NotEmpty(w.t, w.news, "a notification that is no news")
		first := w.news[0]
		if first.ended && first.changed && first.known != nil {
			w.changed++
		}
		if first.ended && first.known == nil {
			w.passed++
		}
		want := w.tell(first)
		if next := w.there[first.name]; first.ended && next != nil {
			want = append(want, w.tell(next)...)
			w.merged++
		}
		var told heard
		untold.deliver(told.handler())
		require.Equal(w.t, want, told)
	}
	for _, untold := range w.every.take(nil, most) {
		require.NotEmpty(w.t, w.calls, "a call that nobody asked for")
		var told heard
		untold.deliver(told.handler())
		require.Equal(w.t, w.calls[:1], told)
		w.calls, w.marks = w.calls[1:], w.marks[1:]
	}
}

func (w *backlogWorld) tell(l *life) heard {
	calls := l.calls()
	l.known, l.hasNews, l.changed = l.now, false, false
	w.news = slices.DeleteFunc(w.news, func(other *life) bool { return other == l })
	return calls
}

func (w *backlogWorld) check() {
	initial, marks := 0, 0
	for _, l := range w.news {
		if l.initial && l.known == nil {
			initial++
		}
	}
	for _, mark := range w.marks {
		if mark {
			marks++
		}
	}
	require.Equal(w.t, initial, w.backlog.initial)
	require.Equal(w.t, marks, w.every.initial)
	require.Equal(w.t, len(w.calls), w.every.len())
	require.LessOrEqual(w.t, w.backlog.len(), 8, "there are 8 names")
}

// playBacklog runs a program, a byte a step.
func playBacklog(t *testing.T, program []byte) *backlogWorld {
	w := &backlogWorld{t: t, backlog: coalescing(), there: map[byte]*life{}}
	for _, step := range program {
		switch name := step >> 5; step & 15 {
		case 0, 1, 2, 3:
			w.write(name, false)
		case 4:
			w.write(name, true)
		case 5, 6, 7:
			w.delete(name, step&16 != 0)
		case 8: // another object takes the name, with nothing in between
			if w.there[name] != nil {
				w.replaced++
				w.delete(name, true)
				w.write(name, false)
			}
		case 9:
			w.resync(name)
		case 10, 11:
			w.take(int(name))
		}
		w.check()
	}
	w.take(1000)
	require.Empty(t, w.news, "the listener has not been told everything")
	require.Empty(t, w.calls)
	require.Zero(t, w.backlog.len()+w.every.len())
	return w
}

// Whatever happens while a listener takes breaks, it is told each change; or, if it asks for
// Coalesce, of each object what it must be told, in the order in which they had news.
func TestABacklogTellsWhatAListOfEverythingWouldTell(t *testing.T) {
	var most, mostOfAll, replaced, merged, passed, silent, changed int
	for seed := range uint64(400) {
		program := make([]byte, 300)
		random := rand.New(rand.NewPCG(seed, 6))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := playBacklog(t, program)
			most, mostOfAll, replaced = max(most, w.most), max(mostOfAll, w.mostOfAll), replaced+w.replaced
			merged, passed, silent, changed = merged+w.merged, passed+w.passed, silent+w.silent, changed+w.changed
		}) {
			return
		}
	}
	require.GreaterOrEqual(t, most, 8, "the queue was never long")
	require.GreaterOrEqual(t, mostOfAll, 50, "the other queue was never long")
	require.Greater(t, replaced, 1000, "hardly any object was replaced by another one of its name")
	require.Greater(t, merged, 500, "hardly ever an end and a beginning were told together")
	require.Greater(t, passed, 500, "hardly any object came and went unheard")
	require.Greater(t, silent, 200, "hardly ever a second object of one name came and went")
	require.Greater(t, changed, 500, "hardly any object had changed before it went")
}

func FuzzBacklog(f *testing.F) {
	f.Add([]byte{0x00, 0x20, 0x2a, 0x05, 0x25, 0x20, 0x00, 0x6a})
	f.Fuzz(func(t *testing.T, program []byte) { playBacklog(t, program[:min(len(program), 600)]) })
}
