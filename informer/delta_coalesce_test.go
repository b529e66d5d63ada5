package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/inorder"
)

// podAt is one version of one of several objects with the same name.
func podAt(uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

// told is what a consumer that has the known pod, or none, would be told.
func told(p *coalesced[*corev1.Pod], known *corev1.Pod) []Delta[*corev1.Pod] {
	return p.deltas(nil, keyIn("shop", "web"), known, known != nil)
}

func requireDeltas(t *testing.T, want, got []Delta[*corev1.Pod], why string) {
	t.Helper()
	for i := range want {
		want[i].Key = keyIn("shop", "web")
	}
	require.Equal(t, inWords(want), inWords(got), why)
}

// inWords is what a learner can read: "Updated shop/web from a1 to a2", which are
// UID and version.
func inWords(deltas []Delta[*corev1.Pod]) []string {
	name := func(pod *corev1.Pod) string {
		if pod == nil {
			return "nothing"
		}
		return string(pod.UID) + pod.ResourceVersion
	}
	words := []string{}
	for _, d := range deltas {
		text := fmt.Sprintf("%s %s from %s to %s", d.Type, d.Key, name(d.Old), name(d.Object))
		if d.Initial {
			text += ", initial"
		}
		if d.FinalStateUnknown {
			text += ", final state unknown"
		}
		words = append(words, text)
	}
	return words
}

// Function: coalesced.put or coalesced.deltas
func TestAThousandUpdatesAreOneDelta(t *testing.T) {
	var p coalesced[*corev1.Pod]
	for range 999 {
		p.put(podAt("a", "2"))
	}
	newest, known := podAt("a", "1000"), podAt("a", "1")
	p.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: newest, Old: known}}, told(&p, known),
		"updates that nobody has seen coalesce: from what the consumer has to the newest state")
}

// Function: coalesced.deltas
func TestAnUpdateOfWhatNobodyHasIsAnAddition(t *testing.T) {
	var p coalesced[*corev1.Pod]
	p.put(podAt("a", "1"))
	newest := podAt("a", "2")
	p.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaAdded, Object: newest}}, told(&p, nil),
		"to a consumer that does not have the object it is added, whatever the watch called it")
}

// A handler that gets an OnDelete for something that it never heard of looks it
// up and finds nothing.
// Function: coalesced.remove or coalesced.deltas
func TestWhatCameAndWentUnseenIsNotReported(t *testing.T) {
	p := coalesced[*corev1.Pod]{fresh: true}
	p.put(podAt("a", "1"))
	require.False(t, p.remove(podAt("a", "2"), false), "a fresh object that goes before anybody heard of it leaves nothing to tell")

	var listed coalesced[*corev1.Pod]
	listed.put(podAt("a", "1"))
	require.True(t, listed.remove(podAt("a", "2"), false), "if it is not fresh, the consumer may know it, and must be asked")
	requireDeltas(t, nil, told(&listed, nil), "it turns out that the consumer does not know it: there is nothing to tell")
}

// Function: coalesced.remove or coalesced.deltas
func TestADeletionCarriesTheLastState(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last := podAt("a", "1"), podAt("a", "3")
	p.remove(last, false)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}}, told(&p, known),
		"the deletion says what the object was at its end")
}

// Function: coalesced.remove or coalesced.deltas
func TestADeletionThatNobodySawIsATombstone(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known := podAt("a", "1")
	p.remove(known, true)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}}, told(&p, known),
		"a deletion that is a conclusion carries the last known state, and says so")
}

// A controller that takes the new pod for the old one, changed, believes that the
// old one's volumes and addresses are still in use.
// Function: coalesced.put or coalesced.deltas
func TestAnotherObjectOfTheSameNameIsNoUpdate(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last, next := podAt("a", "1"), podAt("a", "2"), podAt("b", "3")
	p.remove(last, false)
	p.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"deleted, then made again: the consumer must be told both, in this order")
}

// Function: coalesced.put or coalesced.deltas
func TestTheUIDTellsOfADeletionThatNobodySaw(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, next := podAt("a", "1"), podAt("b", "9")
	p.put(podAt("a", "1"))
	p.put(next) // as a list after a long absence shows it
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"another UID under the same name: the first object was deleted, and nobody saw it")

	var q coalesced[*corev1.Pod]
	q.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&q, known),
		"the same, if the consumer's own copy is all that is known of the first")
}

// Function: coalesced.put
func TestTheEndOfAFormerObjectIsMarkedAsItCame(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, next := podAt("a", "1"), podAt("b", "3")
	p.remove(known, true) // as a list without it shows
	p.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"the deletion of the first was a conclusion, and stays one when another object takes the name")
}

// A Pod that loses a label and gets it back leaves the selector of a watch, and
// returns. The watch says DELETED and ADDED, and means the same Pod.
// Function: coalesced.put or coalesced.deltas
func TestAnObjectThatLeftTheSelectorAndReturnedIsNoUpdate(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last, again := podAt("a", "1"), podAt("a", "2"), podAt("a", "4")
	p.remove(last, false)
	p.put(again)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}, {Type: DeltaAdded, Object: again}}, told(&p, known),
		"the end of the object was seen, so it must be told, though the object that returned has the same UID")
}

// Function: coalesced.put
func TestOfThreeObjectsOfOneNameTheFirstStaysTheFormer(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last, third := podAt("a", "1"), podAt("a", "2"), podAt("c", "4")
	p.remove(last, false)
	p.put(podAt("b", "3"))
	p.put(third)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}, {Type: DeltaAdded, Object: third}}, told(&p, known),
		"the consumer may know the first object, but has never heard of the second: it is the first whose end must be told")
}

// Function: coalesced.deltas
func TestAConsumerIsToldTheEndOfTheObjectThatItKnows(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, next := podAt("x", "1"), podAt("b", "4")
	p.remove(podAt("a", "3"), false)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}}, told(&p, known),
		"the end of another object was seen; the one that the consumer knows has gone as well, and nobody saw it")
	p.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"the former is not the object that the consumer knows: it must be told the end of its own one, and all that is left of that is its own copy")
}

// Function: coalesced.remove
func TestOfSeveralObjectsOfOneNameOnlyTheKnownOneIsReportedGone(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last := podAt("a", "1"), podAt("a", "2")
	p.remove(last, false)
	p.put(podAt("b", "3"))
	require.True(t, p.remove(podAt("b", "4"), true), "the consumer may know the first object, and must be asked")
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}}, told(&p, known),
		"nobody saw the end of the second one, and nobody need hear of it; the end of the first was seen, and must be told as such")
}

// A relist of 150,000 objects of which three have changed is three updates.
// Function: coalesced.deltas
func TestAListThatRepeatsWhatIsKnownIsNoNews(t *testing.T) {
	for name, version := range inorder.Map(map[string]string{"with a resourceVersion": "1", "without a resourceVersion, as metrics.k8s.io lists objects": ""}) {
		var c coalesced[*corev1.Pod]
		known := podAt("a", version)
		c.put(podAt("a", version))
		requireDeltas(t, nil, told(&c, known), name+": the same object in a new list: nothing has happened")
		c.sync = true
		requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaSync, Object: known, Old: known}}, told(&c, known),
			name+": if a resync was asked for, it is handed over all the same")
	}
}

// Function: coalesced.deltas
func TestAListThatShowsAnotherStateIsNews(t *testing.T) {
	var c coalesced[*corev1.Pod]
	known, newest := podAt("a", "1"), podAt("a", "2")
	c.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: newest, Old: known}}, told(&c, known),
		"the list shows another resourceVersion than the consumer has: this is how it learns of what it missed")
	c.sync = true
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: newest, Old: known}}, told(&c, known),
		"an update is handed over as what it is, even if a resync was asked for: a Sync would say that nothing has happened")
}

// A list is the truth. A server that was restored from a backup, or that converts
// objects in another way since its upgrade, shows another content under a version
// that is known. A consumer that looks at the version only keeps the old content
// until somebody writes the object.
// Function: coalesced.deltas
func TestAnotherContentIsNewsUnderTheSameVersion(t *testing.T) {
	for name, version := range inorder.Map(map[string]string{"with a resourceVersion": "1", "without a resourceVersion, as metrics.k8s.io lists objects": ""}) {
		var c coalesced[*corev1.Pod]
		known, restored := podAt("a", version), podAt("a", version)
		restored.Spec.NodeName = "node-2"
		c.put(restored)
		requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: restored, Old: known}}, told(&c, known),
			name+": the list shows another content than the consumer has")
		require.Same(t, restored, told(&c, known)[0].Object, name+": the object of the list must reach the store")
		c.sync = true
		requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: restored, Old: known}}, told(&c, known),
			name+": an update is handed over as what it is, even if a resync was asked for")
	}
}

// Function: coalesced.deltas
func TestTheMarkOfTheFirstListIsHandedOn(t *testing.T) {
	p := coalesced[*corev1.Pod]{initial: true}
	known, newest, other := podAt("a", "1"), podAt("a", "2"), podAt("b", "1")
	p.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaAdded, Object: newest, Initial: true}}, told(&p, nil),
		"an object of the first list is added with the mark")
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: newest, Old: known, Initial: true}}, told(&p, known),
		"an object of the first list is updated with the mark, if the consumer has it already")
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: other, Old: other, FinalStateUnknown: true}, {Type: DeltaAdded, Object: newest, Initial: true}}, told(&p, other),
		"of two deltas only the Added is about the object of the first list")
}

// A Pod gets another owner, and is deleted before the consumer looks. Its last state names the
// new owner. The former one is a Pod short, and only the consumer's own state still names it.
// Function: coalesced.put, coalesced.remove or coalesced.deltas
func TestAChangeBeforeTheEndIsTold(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last, next := podAt("a", "1"), podAt("a", "3"), podAt("b", "4")
	p.put(podAt("a", "2"))
	p.remove(last, false)
	changed := []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: last, Old: known}, {Type: DeltaDeleted, Object: last, Old: last}}
	requireDeltas(t, changed, told(&p, known), "the object changed, and then it went: the consumer must be told both, or whoever it belonged to before never hears of it")
	p.put(next)
	requireDeltas(t, append(changed, Delta[*corev1.Pod]{Type: DeltaAdded, Object: next}), told(&p, known),
		"the object changed, it went, and another one took the name: that is three deltas, and it never takes more")
}

// Function: coalesced.put, coalesced.remove or coalesced.deltas
func TestAChangeBeforeTheEndIsToldEvenIfNobodySawTheEnd(t *testing.T) {
	p := coalesced[*corev1.Pod]{initial: true}
	known, unseen, next := podAt("a", "1"), podAt("a", "2"), podAt("b", "9")
	p.put(unseen)
	p.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: unseen, Old: known}, {Type: DeltaDeleted, Object: unseen, Old: unseen, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next, Initial: true}},
		told(&p, known), "another UID proves the end of an object that had changed; only the second object is in the first list")

	var q coalesced[*corev1.Pod]
	restored := podAt("a", "1")
	restored.Spec.NodeName = "node-2"
	q.put(restored)
	q.remove(restored, true)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: restored, Old: known}, {Type: DeltaDeleted, Object: restored, Old: restored, FinalStateUnknown: true}},
		told(&q, known), "another content under the same version is a change, too")
}

// A resync that comes as an update, for each object that goes, hides the updates that are some.
// Function: coalesced.put, coalesced.remove or coalesced.deltas
func TestAChangeBeforeTheEndIsNotInvented(t *testing.T) {
	var p coalesced[*corev1.Pod]
	known, last := podAt("a", "1"), podAt("a", "2")
	p.put(podAt("a", "1"))
	p.remove(podAt("a", "1"), true)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}}, told(&p, known),
		"a list showed what the consumer has, and the next one does not: there was no change before the end")

	var q coalesced[*corev1.Pod]
	q.remove(last, false)
	q.put(podAt("a", "3"))
	q.remove(podAt("a", "4"), false)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}}, told(&q, known),
		"the object left the selector, returned, and went again: what came after the first end is no change before it")

	var r coalesced[*corev1.Pod]
	other := podAt("x", "1")
	r.put(podAt("a", "2"))
	r.remove(podAt("a", "3"), false)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: other, Old: other, FinalStateUnknown: true}}, told(&r, other),
		"the object that changed is not the one that the consumer has")
}

// Whatever happens on the server, and whatever of it the watch does not tell, the
// consumer ends with what the server has, by legal steps.
// Function: coalesced.put, coalesced.remove or coalesced.deltas
func TestTheDeltasLeadToWhatTheServerHas(t *testing.T) {
	var types [5]int
	most, tombstones, restored, changes := 0, 0, 0, 0
	for seed := range uint64(400) {
		program := make([]byte, 200)
		random := rand.New(rand.NewPCG(seed, 4))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := playDeltas(t, program, false)
			for i := range types {
				types[i] += w.types[i]
			}
			most, tombstones, restored, changes = max(most, w.most), tombstones+w.tombstones, restored+w.restored, changes+w.changes
		}) {
			return
		}
	}
	for _, kind := range []DeltaType{DeltaAdded, DeltaUpdated, DeltaDeleted, DeltaSync} {
		require.Greater(t, types[kind], 500, "hardly any delta was %s, so little was tried", kind)
	}
	require.GreaterOrEqual(t, most, 10, "the queue was never long, so little was tried")
	require.Greater(t, tombstones, 300, "hardly any deletion was unseen, so little was tried")
	require.Greater(t, changes, 300, "hardly any object had changed before it went, so little was tried")
	require.Greater(t, restored, 100, "hardly any object changed under its version, so little was tried")
}
