package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// heard is what a handler was told, as text: "add a1 false" is an object with UID a
// and version 1, which was not there from the beginning.
type heard []string

func (h *heard) handler() Handler[*corev1.Pod] {
	name := func(pod *corev1.Pod) string {
		if pod == nil {
			return "nothing"
		}
		return string(pod.UID) + pod.ResourceVersion
	}
	return HandlerFuncs[*corev1.Pod]{
		Add: func(pod *corev1.Pod, initial bool) {
			*h = append(*h, fmt.Sprintf("add %s %v", name(pod), initial))
		},
		Update: func(old, pod *corev1.Pod) {
			*h = append(*h, fmt.Sprintf("update %s %s", name(old), name(pod)))
		},
		Delete: func(pod *corev1.Pod, unknown bool) {
			*h = append(*h, fmt.Sprintf("delete %s %v", name(pod), unknown))
		},
	}
}

func added(pod *corev1.Pod) delta[*corev1.Pod] {
	return delta[*corev1.Pod]{kind: deltaAdded, object: pod}
}
func updated(old, pod *corev1.Pod) delta[*corev1.Pod] {
	return delta[*corev1.Pod]{kind: deltaUpdated, old: old, object: pod}
}
func deleted(old, last *corev1.Pod) delta[*corev1.Pod] {
	return delta[*corev1.Pod]{kind: deltaDeleted, old: old, object: last}
}

// tellAll notes the deltas and returns what the handler is told then.
func tellAll(deltas ...delta[*corev1.Pod]) heard {
	var u notification[*corev1.Pod]
	for _, delta := range deltas {
		u.add(delta)
	}
	var h heard
	u.deliver(h.handler())
	return h
}

func podAt(uid, version string) *corev1.Pod { return podNamed("web", uid, version) }

func podNamed(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version,
	}}
}

var a1, a2, a3, b4, b5 = podAt("a", "1"), podAt("a", "2"), podAt("a", "3"), podAt("b", "4"),
	podAt("b", "5")

// A handler that is not told of a change, or is told of another kind, acts on a
// world that is not there.
// Function: notification.add or notification.deliver
func TestAHandlerIsToldOfEachKindOfChange(t *testing.T) {
	h := tellAll(added(a1))
	require.Equal(t, heard{"add a1 false"}, h,
		"an object was added (a1: UID a, version 1), and was not there from the beginning (false)")
	h = tellAll(updated(a1, a2))
	require.Equal(t, heard{"update a1 a2"}, h, "an object was updated, from version 1 to version 2")
	h = tellAll(deleted(a1, a2))
	require.Equal(t, heard{"delete a2 false"}, h,
		"an object was deleted: the handler must be told its last state, version 2, and that it is "+
			"known (false)")
	h = tellAll(delta[*corev1.Pod]{kind: deltaSync, old: a1, object: a1})
	require.Equal(t, heard{"update a1 a1"}, h, "a resync is an update from a state to the same state")
}

// A handler that gets an update first looks up what it keeps for the object, and
// finds nothing.
// Function: notification.add
func TestAnAdditionThatWasUpdatedIsStillAnAddition(t *testing.T) {
	h := tellAll(added(a1), updated(a1, a2), updated(a2, a3))
	require.Equal(t, heard{"add a3 false"}, h,
		"the handler has not heard of the object: it must be added, in its newest state")
}

// Function: notification.add
func TestUpdatesBecomeOneThatBeginsWithWhatTheHandlerKnows(t *testing.T) {
	h := tellAll(updated(a1, a2), updated(a2, a3))
	require.Equal(t, heard{"update a1 a3"}, h,
		"old must be the state that the handler was told, not one that it never saw")
}

// Function: notification.add or notification.deliver
func TestTheEndComesBeforeTheNewBeginning(t *testing.T) {
	h := tellAll(deleted(a1, a2), added(b4), updated(b4, b5))
	require.Equal(t, heard{"delete a2 false", "add b5 false"}, h,
		"another object has taken the name: the end of the first must be told, and be told first")
}

// A Pod comes and goes while the handler is busy. A controller that was called for another reason
// has seen it in the store, and has counted it.
// Function: notification.add or notification.deliver
func TestAnObjectThatCameAndWentIsToldWithItsEnd(t *testing.T) {
	h := tellAll(added(a1), updated(a1, a2), deleted(a2, a3))
	require.Equal(t, heard{"add a3 false", "delete a3 false"}, h,
		"the handler has never heard of the object, and somebody may have seen it: both its beginning "+
			"and its end must be told, with the last state")
	h = tellAll(added(a1), delta[*corev1.Pod]{kind: deltaDeleted, old: a1, object: a1, unseen: true})
	require.Equal(t, heard{"add a1 false", "delete a1 true"}, h,
		"that nobody saw the end must be told, though the handler did not know the object")
	h = tellAll(added(a1), deleted(a1, a2), added(b4))
	require.Equal(t, heard{"add a2 false", "delete a2 false", "add b4 false"}, h,
		"one object came and went, and another one has taken its name: that is three calls")
}

// However many objects of one name come and go, the handler's backlog must not grow.
// Function: notification.add
func TestASecondObjectThatWentUnseenLeavesTheEndOfTheFirst(t *testing.T) {
	h := tellAll(deleted(a1, a3), added(b4), deleted(b4, b5))
	require.Equal(t, heard{"delete a3 false"}, h,
		"the handler knows the first object only, and must be told of its end only")
	h = tellAll(added(a1), deleted(a1, a2), added(b4), deleted(b4, b5))
	require.Equal(t, heard{"add a2 false", "delete a2 false"}, h,
		"two objects of one name came and went: the handler must be told of the first only")
}

// Function: notification.add or notification.deliver
func TestMarksAreKept(t *testing.T) {
	h := tellAll(delta[*corev1.Pod]{kind: deltaAdded, object: a1, initial: true}, updated(a1, a2))
	require.Equal(t, heard{"add a2 true"}, h,
		"what was there at the beginning stays initial, whatever happens to it before it is told")
	h = tellAll(delta[*corev1.Pod]{kind: deltaDeleted, old: a1, object: a1, unseen: true})
	require.Equal(t, heard{"delete a1 true"}, h, "that nobody saw the deletion must be told")
}

// Function: notification.add or notification.deliver
func TestTheMarkOfAnObjectThatCameAndWentIsItsOwn(t *testing.T) {
	first := delta[*corev1.Pod]{kind: deltaAdded, object: a1, initial: true}
	h := tellAll(first, deleted(a1, a2), added(b4))
	require.Equal(t, heard{"add a2 true", "delete a2 false", "add b4 false"}, h,
		"the first object was there at the beginning, and must be marked; the second was not")
	second := delta[*corev1.Pod]{kind: deltaAdded, object: b4, initial: true}
	h = tellAll(added(a1), deleted(a1, a2), second)
	require.Equal(t, heard{"add a2 false", "delete a2 false", "add b4 true"}, h,
		"the second object was there at the beginning, and must be marked; the first was not")
	h = tellAll(added(a1), deleted(a1, a2), second, deleted(b4, b5))
	require.Equal(t, heard{"add a2 false", "delete a2 false"}, h,
		"the mark of the second object, which is gone, is not that of the first")
}

// A handler that counts the initial objects, to know when it has all of them,
// must not count one that came later.
// Function: notification.add
func TestTheMarkOfTheFirstObjectIsNotThatOfTheSecond(t *testing.T) {
	first := delta[*corev1.Pod]{kind: deltaAdded, object: b4, initial: true}
	h := tellAll(deleted(a1, a2), first)
	require.Equal(t, heard{"delete a2 false", "add b4 true"}, h,
		"the object that took the name was there at the beginning, and must be marked")
	h = tellAll(deleted(a1, a2), first, deleted(b4, b5), added(podAt("c", "6")))
	require.Equal(t, heard{"delete a2 false", "add c6 false"}, h,
		"the marked object has gone; the one that came after it was not there at the beginning")
}

// A Pod gets another owner, and is deleted while the handler is busy. Its last state names the
// new owner. The former one is a Pod short, and only the state that the handler knows names it.
// Function: notification.add or notification.deliver
func TestAnUnheardChangeIsToldBeforeTheEnd(t *testing.T) {
	h := tellAll(updated(a1, a2), deleted(a2, a3))
	require.Equal(t, heard{"update a1 a3", "delete a3 false"}, h,
		"the object changed, and then it went: the handler must be told both, or whoever it belonged "+
			"to before never hears of it")
	h = tellAll(updated(a1, a2), deleted(a2, a3), added(b4), updated(b4, b5))
	require.Equal(t, heard{"update a1 a3", "delete a3 false", "add b5 false"}, h,
		"the object changed, it went, and another one took the name: that is three calls, and it never "+
			"takes more")
	h = tellAll(updated(a1, a2), delta[*corev1.Pod]{kind: deltaSync, old: a2, object: a2}, deleted(a2,
		a3), added(b4), deleted(b4, b5))
	require.Equal(t, heard{"update a1 a3", "delete a3 false"}, h,
		"what comes after the change, a resync or another object, does not take it away")
}

// An update that is none, for each object that goes, hides those that are some.
// Function: notification.add or notification.deliver
func TestAnUnheardChangeIsNotInvented(t *testing.T) {
	h := tellAll(delta[*corev1.Pod]{kind: deltaSync, old: a1, object: a1}, deleted(a1, a2))
	require.Equal(t, heard{"delete a2 false"}, h,
		"there was a resync before the end, and a resync is no change")
	h = tellAll(deleted(a1, a2), added(b4), updated(b4, b5), deleted(b5, podAt("b", "6")))
	require.Equal(t, heard{"delete a2 false"}, h,
		"it was the second object that changed, and the handler has never heard of that one")
}

// A listener that takes breaks of any length must be told a legal history that
// ends in what there is.
// Function: notification.add or notification.deliver
func TestAListenerThatTakesBreaksHearsALegalHistory(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 5))
		var u notification[*corev1.Pod]
		var there, told *corev1.Pod
		version, uid, calls, news := 0, 0, 0, false
		// by last state: there was a change before the end that the handler had not heard
		changed := map[*corev1.Pod]bool{}
		handler := HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) {
				calls++
				require.Nil(t, told, "seed %d: what the handler knows must not be added again", seed)
				told = pod
			},
			Update: func(old, pod *corev1.Pod) {
				calls++
				require.Same(t, told, old, "seed %d: old must be the state that the handler was told", seed)
				require.Equal(t, old.UID, pod.UID,
					"seed %d: an update must be about the object that the handler knows", seed)
				unheard, last := changed[pod]
				require.True(t, unheard || !last,
					"seed %d: there was no change before the end, so none must be told", seed)
				told = pod
			},
			Delete: func(pod *corev1.Pod, _ bool) {
				calls++
				require.NotNil(t, told, "seed %d: the end of an object must not be told to a handler that "+
					"knows none", seed)
				require.Equal(t, told.UID, pod.UID,
					"seed %d: the end that is told must be that of the object that the handler knows", seed)
				require.True(t, told == pod || !changed[pod],
					"seed %d: the object changed before its end, and the handler must be told of the change "+
						"first", seed)
				told = nil
			},
		}
		for range 60 {
			version++
			switch pod := podAt(fmt.Sprint(uid), fmt.Sprint(version)); random.IntN(5) {
			case 0, 1, 2:
				if there == nil {
					uid++
					pod = podAt(fmt.Sprint(uid), fmt.Sprint(version))
					u.add(added(pod))
				} else {
					u.add(updated(there, pod))
				}
				there, news = pod, true
			case 3:
				if there != nil {
					news = true
					changed[pod] = there != told
					u.add(deleted(there, pod))
					there = nil
				}
			case 4:
				calls = 0
				u.deliver(handler)
				u = notification[*corev1.Pod]{}
				require.Equal(t, news, calls > 0,
					"seed %d: the handler must be called if something happened, and only then", seed)
				news = false
				require.Equal(t, there, told, "seed %d: after all was told, the handler must know what there "+
					"is", seed)
			}
		}
	}
}

// A handler may sleep for an hour. Of an object that is gone, its listener keeps the last
// state; and the one that the handler knows, if a change has to be told. No other.
// Function: notification.add
func TestAnObjectThatIsGoneIsKeptOnce(t *testing.T) {
	var n notification[*corev1.Pod]
	n.add(delta[*corev1.Pod]{kind: deltaSync, old: a2, object: a2})
	n.add(deleted(a2, a3))
	require.Same(t, a3, n.last)
	require.Nil(t, n.object, "the state before the last stays in memory until the handler has time")
	require.Nil(t, n.old, "nobody is told what the handler knew of an object that is gone, if it "+
		"had not changed")
	n = notification[*corev1.Pod]{}
	n.add(updated(a1, a2))
	n.add(deleted(a2, a3))
	require.Same(t, a1, n.old, "the handler is told of the change, from the state that it knows")
	require.Nil(t, n.object, "the state in between stays in memory, and nobody is told of it")
}

// toldAll is what the handler hears when the whole backlog is delivered.
func toldAll(b *pendingNotifications[*corev1.Pod]) heard {
	var h heard
	for n := b.take(); n != nil; n = b.take() {
		n.deliver(h.handler())
	}
	return h
}

func coalescing() *pendingNotifications[*corev1.Pod] {
	return &pendingNotifications[*corev1.Pod]{coalesces: true}
}

// Somebody may have read each of these states in the store, and acted on it.
func TestAQueueKeepsEachStateInOrder(t *testing.T) {
	var q pendingNotifications[*corev1.Pod]
	other := podNamed("other", "o", "7")
	for _, d := range []delta[*corev1.Pod]{
		updated(a1, a2), added(other), updated(a2, a3), deleted(other, other), updated(a3, a1),
	} {
		q.add(d)
	}
	require.Equal(t, 5, q.len())
	require.Equal(t, heard{
		"update a1 a2", "add o7 false", "update a2 a3", "delete o7 false", "update a3 a1",
	}, toldAll(&q))
}

// A handler that never comes back must not take the process with it, if it asks for Coalesce.
func TestAQueueThatCoalescesIsAsLongAsThereAreKeys(t *testing.T) {
	q := coalescing()
	first, last := podNamed("passing", "p", "4"), podNamed("passing", "p", "5")
	was := a1
	for range 1000 {
		q.add(updated(was, a2))
		q.add(added(first))
		q.add(deleted(first, last))
		was = a2
	}
	require.Equal(t, 2, q.len())
	require.Equal(t, heard{"update a1 a2", "add p5 false", "delete p5 false"}, toldAll(q))
	require.Zero(t, q.len())
	require.Nil(t, q.of, "a map never shrinks")
	q.add(updated(a2, a3))
	require.Equal(t, heard{"update a2 a3"}, toldAll(q), "what was told is told again")
}

// Each handler is told of all Pods when it begins, and of a few from then on.
func TestAQueueThatIsEmptyKeepsNoMemory(t *testing.T) {
	var q pendingNotifications[*corev1.Pod]
	for range 1025 { // leaves room at the end
		q.add(added(a1))
	}
	toldAll(&q)
	require.Nil(t, q.waiting, "what is left of the slice keeps all of it")
}

// HasSynced waits for this count to be zero: if it is too high, it waits forever,
// and if it is too low, a controller begins before it knows what there is.
func TestTheInitialObjectsAreCountedUntilTheyAreTaken(t *testing.T) {
	initial := func(pod *corev1.Pod) delta[*corev1.Pod] {
		return delta[*corev1.Pod]{kind: deltaAdded, object: pod, initial: true}
	}
	x, y := podNamed("x", "x", "1"), podNamed("y", "y", "1")
	for _, q := range []*pendingNotifications[*corev1.Pod]{{}, coalescing()} {
		for _, pod := range []*corev1.Pod{a1, x, y} {
			q.add(initial(pod))
		}
		require.Equal(t, 3, q.initial)
		q.add(updated(a1, a2))
		require.Equal(t, 3, q.initial, "a change leaves it initial")
		q.add(deleted(y, y))
		require.Equal(t, 3, q.initial, "it is gone, and the handler has not heard of it yet")
		q.add(added(podNamed("y", "z", "2")))
		require.Equal(t, 3, q.initial, "what came later was not there at the beginning")
		q.take()
		q.take()
		require.Equal(t, 1, q.initial)
		toldAll(q)
		require.Zero(t, q.initial)
	}
	q := coalescing()
	q.add(initial(a1))
	q.add(deleted(a1, a2))
	q.add(initial(b4))
	require.Equal(t, 2, q.initial, "two objects of the first list had the name, one after the other")
	q.take()
	require.Zero(t, q.initial)
}
