package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
)

func pod(uid types.UID, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}}}
}

func told(to *corev1.Pod) *corev1.Pod {
	to.DeletionTimestamp = new(metav1.Now())
	return to
}

// The table at the end says how many Pods were too many, and how many too few.
func TestTheLedgerCountsAPodOnceHoweverOftenItIsSeen(t *testing.T) {
	var l ledger
	l.saw(pod("a", false))
	l.saw(pod("a", true))
	l.saw(pod("b", true))
	l.begin()
	assert.Equal(t, []int{0, 0, 2}, []int{l.created, l.deleted, l.fewestReady})

	l.saw(pod("c", false))
	l.saw(told(pod("a", true))) // it may still be ready, but gets no traffic any more
	l.saw(told(pod("a", true)))
	l.gone(pod("a", true))
	l.saw(pod("c", true))
	assert.Equal(t, []int{1, 1, 1}, []int{l.created, l.deleted, l.fewestReady})

	l.begin()
	l.gone(pod("b", true)) // at once, as with --force
	l.saw(told(pod("d", true)))
	assert.Equal(t, []int{0, 1, 1}, []int{l.created, l.deleted, l.fewestReady})
}

func TestTheLedgerKnowsHowManyPodsWereAskedForAtMost(t *testing.T) {
	var l ledger
	for _, sets := range [][]picture.Set{{{Wanted: 10}}, {{Wanted: 10}, {Wanted: 3}}, {{Wanted: 8}, {Wanted: 3}}} {
		l.ask(picture.Facts{Sets: sets})
	}
	assert.Equal(t, 13, l.asked)
	l.begin()
	l.ask(picture.Facts{Sets: []picture.Set{{Wanted: 8}}})
	assert.Equal(t, 8, l.asked)
}
