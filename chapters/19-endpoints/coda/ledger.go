package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ledger counts Pods during a step of the story. It needs every change, in order.
type ledger struct {
	// created and deleted are how many Pods have come, and how many have been told to go.
	created, deleted int
	// most is how many there were at once, without those that are told to go; fewestReady is how few of them were ready.
	most, fewestReady int

	pods map[types.UID]bool // whether it is ready; those that are told to go are not there
}

// begin starts the counting of a step. The Pods that are there stay.
func (l *ledger) begin() {
	ready := l.ready()
	l.created, l.deleted, l.most, l.fewestReady = 0, 0, len(l.pods), ready
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
	l.most, l.fewestReady = max(l.most, len(l.pods)), min(l.fewestReady, l.ready())
}

func (l *ledger) gone(pod *corev1.Pod) {
	if _, known := l.pods[pod.UID]; known {
		l.deleted++
		delete(l.pods, pod.UID)
		l.fewestReady = min(l.fewestReady, l.ready())
	}
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
