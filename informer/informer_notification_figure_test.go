package informer

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// The chapter explains by this picture what a sleeping handler is told later. If the
// handler is told something else, the picture must show it.
func TestTheFigureOfASleepingHandlerShowsTheNotification(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(store, DeltaQueueOptions{})
	lanes := &laneFigure{Canvas: figures.New(538, "What is kept for one key while a handler sleeps",
		"Three lanes: the informer's deltas, the notification after each, and the calls that the handler would get. The handler "+
			"has asked for Coalesce. It is told of the first delta and sleeps. Three updates, a deletion and a second object of the "+
			"same name follow. There is always one notification, and the handler gets three calls when it wakes: OnUpdate, OnDelete, OnAdd.")}
	lanes.begin("One key while a handler with Coalesce sleeps", "informer: deltas", "backlog: the notification", "handler")
	var batch Batch[*corev1.Pod]
	var waiting notification[*corev1.Pod]
	for i, event := range lifeOfAKey {
		queue.Apply(event)
		queue.Pop(&batch)
		applyTo(store, batch.Deltas)
		for n, delta := range batch.Deltas {
			waiting.add(delta)
			lanes.row(i > 0, inWordsOf(batch.Deltas)[n], reflect.ValueOf(waiting), callsOf(waiting))
		}
		if i == 0 {
			waiting = notification[*corev1.Pod]{} // it was told
		}
	}
	lanes.end(callsOf(waiting))
	figurestest.Check(t, lanes.Canvas, "../chapters/05-shared/pending.svg")
}

// callsOf are the calls that a handler gets now.
func callsOf(waiting notification[*corev1.Pod]) (calls [][]figures.Word) {
	call := func(name string, pods ...*corev1.Pod) {
		words := []figures.Word{{Text: name}}
		for _, pod := range pods {
			words = append(words, wordOf(pod))
		}
		calls = append(calls, words)
	}
	waiting.deliver(HandlerFuncs[*corev1.Pod]{
		Add:    func(pod *corev1.Pod, _ bool) { call("OnAdd", pod) },
		Update: func(old, pod *corev1.Pod) { call("OnUpdate", old, pod) },
		Delete: func(pod *corev1.Pod, _ bool) { call("OnDelete", pod) },
	})
	return calls
}
