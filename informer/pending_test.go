package informer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podAt is one version of one of several objects with the same name.
func podAt(uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

// told is what a consumer that has the known pod, or none, would be told.
func told(p *pending[*corev1.Pod], known *corev1.Pod) []Delta[*corev1.Pod] {
	return p.deltas(nil, keyIn("shop", "web"), known, known != nil)
}

func requireDeltas(t *testing.T, want, got []Delta[*corev1.Pod], why string) {
	t.Helper()
	require.Equal(t, inWords(want), inWords(got), why)
}

// inWords is what a learner can read: "Updated a1 to a2".
func inWords(deltas []Delta[*corev1.Pod]) []string {
	name := func(pod *corev1.Pod) string {
		if pod == nil {
			return "nothing"
		}
		return string(pod.UID) + pod.ResourceVersion
	}
	words := []string{}
	for _, d := range deltas {
		text := fmt.Sprintf("%s %s to %s", d.Type, name(d.Old), name(d.Object))
		if d.FinalStateUnknown {
			text += ", final state unknown"
		}
		words = append(words, text)
	}
	return words
}

// Function: pending.put or pending.deltas
func TestAThousandUpdatesAreOneDelta(t *testing.T) {
	var p pending[*corev1.Pod]
	for range 999 {
		p.put(podAt("a", "2"))
	}
	newest, known := podAt("a", "1000"), podAt("a", "1")
	p.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaUpdated, Object: newest, Old: known}}, told(&p, known),
		"updates that nobody has seen coalesce: from what the consumer has to the newest state")
}

// Function: pending.deltas
func TestAnUpdateOfWhatNobodyHasIsAnAddition(t *testing.T) {
	var p pending[*corev1.Pod]
	p.put(podAt("a", "1"))
	newest := podAt("a", "2")
	p.put(newest)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaAdded, Object: newest}}, told(&p, nil),
		"to a consumer that does not have the object it is added, whatever the watch called it")
}

// A handler that is told of the end of something that it never heard of looks it
// up and finds nothing.
// Function: pending.remove or pending.deltas
func TestWhatCameAndWentUnseenIsNotReported(t *testing.T) {
	p := pending[*corev1.Pod]{fresh: true}
	p.put(podAt("a", "1"))
	require.False(t, p.remove(podAt("a", "2"), false), "a fresh object that goes before anybody heard of it leaves nothing to tell")

	var listed pending[*corev1.Pod]
	listed.put(podAt("a", "1"))
	require.True(t, listed.remove(podAt("a", "2"), false), "if it is not fresh, the consumer may know it, and must be asked")
	requireDeltas(t, nil, told(&listed, nil), "it turns out that the consumer does not know it: there is nothing to tell")
}

// Function: pending.remove or pending.deltas
func TestADeletionCarriesTheLastState(t *testing.T) {
	var p pending[*corev1.Pod]
	known, last := podAt("a", "1"), podAt("a", "3")
	p.put(podAt("a", "2"))
	p.remove(last, false)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}}, told(&p, known),
		"the deletion says what the object was at its end; the update before it need not be told")
}

// Function: pending.remove or pending.deltas
func TestADeletionThatNobodySawIsATombstone(t *testing.T) {
	var p pending[*corev1.Pod]
	known := podAt("a", "1")
	p.remove(known, true)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}}, told(&p, known),
		"a deletion that is a conclusion carries the last known state, and says so")
}

// A controller that takes the new pod for the old one, changed, believes that the
// old one's volumes and addresses are still in use.
// Function: pending.put or pending.deltas
func TestAnotherObjectOfTheSameNameIsNoUpdate(t *testing.T) {
	var p pending[*corev1.Pod]
	known, last, next := podAt("a", "1"), podAt("a", "2"), podAt("b", "3")
	p.remove(last, false)
	p.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"deleted, then made again: the consumer must be told both, in this order")
}

// Function: pending.put or pending.deltas
func TestTheUIDTellsOfADeletionThatNobodySaw(t *testing.T) {
	var p pending[*corev1.Pod]
	known, unseen, next := podAt("a", "1"), podAt("a", "2"), podAt("b", "9")
	p.put(unseen)
	p.put(next) // as a list after a long absence shows it
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: unseen, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&p, known),
		"another UID under the same name: the first object was deleted, and nobody saw it")

	var q pending[*corev1.Pod]
	q.put(next)
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: known, Old: known, FinalStateUnknown: true}, {Type: DeltaAdded, Object: next}}, told(&q, known),
		"the same, if the consumer's own copy is all that is known of the first")
}

func TestOfSeveralObjectsOfOneNameOnlyTheKnownOneIsReportedGone(t *testing.T) {
	var p pending[*corev1.Pod]
	known, last := podAt("a", "1"), podAt("a", "2")
	p.remove(last, false)
	p.put(podAt("b", "3"))
	require.True(t, p.remove(podAt("b", "4"), false))
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaDeleted, Object: last, Old: known}}, told(&p, known),
		"the second one came and went unseen; the end of the first must still be told")
}

// A relist of 150,000 objects of which three have changed is three updates.
// Function: pending.deltas
func TestAListThatRepeatsWhatIsKnownIsNoNews(t *testing.T) {
	var p pending[*corev1.Pod]
	known := podAt("a", "1")
	p.put(podAt("a", "1"))
	p.listed = true
	requireDeltas(t, nil, told(&p, known), "the same resourceVersion in a new list: nothing has happened")
	p.sync = true
	requireDeltas(t, []Delta[*corev1.Pod]{{Type: DeltaSync, Object: known, Old: known}}, told(&p, known),
		"if a resync was asked for, it is handed over all the same")
}
