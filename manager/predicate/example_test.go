package predicate_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
)

func deployment(generation int64, labels map[string]string) *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: generation, Labels: labels}}
}

// A controller that writes the status would wake itself with each write.
func ExampleGenerationChangedPredicate() {
	p := predicate.GenerationChangedPredicate{}
	statusWritten := event.UpdateEvent{ObjectOld: deployment(1, nil), ObjectNew: deployment(1, nil)}
	specWritten := event.UpdateEvent{ObjectOld: deployment(1, nil), ObjectNew: deployment(2, nil)}
	fmt.Println(p.Update(statusWritten), p.Update(specWritten))
	// Output: false true
}

// A label does not change the generation. If both matter, either will do.
func ExampleOr() {
	p := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	labelled := event.UpdateEvent{ObjectOld: deployment(1, nil), ObjectNew: deployment(1, map[string]string{"team": "a"})}
	fmt.Println(p.Update(labelled))
	// Output: true
}

func ExampleNewPredicateFuncs() {
	shop := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetNamespace() == "shop" })
	fmt.Println(shop.Create(event.CreateEvent{Object: deployment(1, nil)}))
	// Output: true
}

func ExampleLabelSelectorPredicate() {
	mine, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}})
	if err != nil {
		panic(err)
	}
	a, b := deployment(1, map[string]string{"team": "a"}), deployment(1, map[string]string{"team": "b"})
	fmt.Println("handed over to us:", mine.Update(event.UpdateEvent{ObjectOld: b, ObjectNew: a}))
	fmt.Println("taken away from us:", mine.Update(event.UpdateEvent{ObjectOld: a, ObjectNew: b}))
	// Output:
	// handed over to us: true
	// taken away from us: false
}

// Deletes are not worth a look if the garbage collector does the rest.
func ExampleFuncs() {
	p := predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}
	fmt.Println(p.Delete(event.DeleteEvent{Object: deployment(1, nil)}), p.Create(event.CreateEvent{Object: deployment(1, nil)}))
	// Output: false true
}
