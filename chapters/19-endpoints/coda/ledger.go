package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
)

// ledger counts Pods during a step of the story. It needs every change, in order.
type ledger struct {
	// created and deleted are how many Pods have come, and how many have been told to go.
	created, deleted int
	// fewestReady is how few were ready at any time. Those that are told to go do not count.
	fewestReady int
	// asked is how many the ReplicaSets together have asked for at most. There may be more Pods for a moment, as one
	// ReplicaSet is faster than another.
	asked int

	pods map[types.UID]bool // whether it is ready; those that are told to go are not there
}

// begin starts the counting of a step. The Pods that are there stay.
func (l *ledger) begin() {
	l.created, l.deleted, l.fewestReady, l.asked = 0, 0, l.ready(), 0
}

func (l *ledger) saw(pod *corev1.Pod) {
	_, known := l.pods[pod.UID]
	switch going := pod.DeletionTimestamp != nil; {
	case going:
		l.gone(pod)
		return
	case !known:
		l.created++
	}
	if l.pods == nil {
		l.pods = map[types.UID]bool{}
	}
	l.pods[pod.UID] = isReady(pod)
	l.fewestReady = min(l.fewestReady, l.ready())
}

func (l *ledger) gone(pod *corev1.Pod) {
	if _, known := l.pods[pod.UID]; known {
		l.deleted++
		delete(l.pods, pod.UID)
		l.fewestReady = min(l.fewestReady, l.ready())
	}
}

// ask takes in what the ReplicaSets ask for now.
func (l *ledger) ask(f picture.Facts) {
	asked := 0
	for _, set := range f.Sets {
		asked += int(set.Wanted)
	}
	l.asked = max(l.asked, asked)
}

func (l *ledger) ready() (ready int) {
	for _, is := range l.pods {
		if is {
			ready++
		}
	}
	return ready
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
