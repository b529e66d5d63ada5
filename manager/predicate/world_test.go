package predicate_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
)

// with returns a Pod that is changed by the given functions.
func with(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-1", ResourceVersion: "1", Generation: 1,
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "a"},
	}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func update(was, is client.Object) event.UpdateEvent {
	return event.UpdateEvent{ObjectOld: was, ObjectNew: is}
}

// verdicts are a predicate's for the four events of an object.
func verdicts(p predicate.Predicate, obj client.Object) (create, update, deleted, generic bool) {
	return p.Create(event.CreateEvent{Object: obj}), p.Update(event.UpdateEvent{ObjectOld: obj, ObjectNew: obj}),
		p.Delete(event.DeleteEvent{Object: obj}), p.Generic(event.GenericEvent{Object: obj})
}

// answers is a predicate that gives the same answer to all events, and counts the questions.
type answers struct {
	yes   bool
	asked *int
}

func always(yes bool) answers { return answers{yes, new(0)} }

func (a answers) answer() bool {
	*a.asked++
	return a.yes
}

func (a answers) Create(event.CreateEvent) bool   { return a.answer() }
func (a answers) Update(event.UpdateEvent) bool   { return a.answer() }
func (a answers) Delete(event.DeleteEvent) bool   { return a.answer() }
func (a answers) Generic(event.GenericEvent) bool { return a.answer() }
