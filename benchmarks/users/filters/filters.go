// Package filters has predicates in all the forms in which programs write them.
package filters

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

var (
	_ predicate.Predicate = predicate.Funcs{}
	_ predicate.Predicate = predicate.GenerationChangedPredicate{}
	_ predicate.Predicate = &predicate.AnnotationChangedPredicate{}
	_ predicate.Predicate = newerThan{}

	// Changed is a package variable, whose type the compiler finds.
	Changed = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})

	// Both has explicit type arguments.
	Both = predicate.And[client.Object](Changed, predicate.ResourceVersionChangedPredicate{})
)

// newerThan embeds Funcs, and replaces one of its methods.
type newerThan struct {
	predicate.Funcs
	age time.Duration
}

func (n newerThan) Update(e event.UpdateEvent) bool {
	return time.Since(e.ObjectNew.GetCreationTimestamp().Time) < n.age
}

// specOrLabels embeds a predicate that looks at the generation.
type specOrLabels struct {
	predicate.GenerationChangedPredicate
}

func (p specOrLabels) Update(e event.UpdateEvent) bool {
	return p.GenerationChangedPredicate.Update(e) || len(e.ObjectOld.GetLabels()) != len(e.ObjectNew.GetLabels())
}

// inNamespaces implements the interface itself.
type inNamespaces map[string]bool

func (n inNamespaces) Create(e event.CreateEvent) bool   { return n[e.Object.GetNamespace()] }
func (n inNamespaces) Update(e event.UpdateEvent) bool   { return n[e.ObjectNew.GetNamespace()] }
func (n inNamespaces) Delete(e event.DeleteEvent) bool   { return n[e.Object.GetNamespace()] }
func (n inNamespaces) Generic(e event.GenericEvent) bool { return n[e.Object.GetNamespace()] }

// For puts predicates together.
func For(namespaces []string, selector metav1.LabelSelector) (predicate.Predicate, error) {
	labelled, err := predicate.LabelSelectorPredicate(selector)
	if err != nil {
		return nil, err
	}
	allowed := inNamespaces{}
	for _, n := range namespaces {
		allowed[n] = true
	}
	all := []predicate.Predicate{allowed, labelled, specOrLabels{}}
	all = append(all, predicate.Not(newerThan{age: time.Hour}), predicate.Not[client.Object](Paused()))
	either := predicate.Or[client.Object](predicate.ResourceVersionChangedPredicate{}, predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return true }})
	return predicate.And(predicate.And(all...), predicate.Or(allowed, either), predicate.And[client.Object](all...)), nil
}

// Paused returns the struct, and changes it later.
func Paused() predicate.Funcs {
	paused := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetAnnotations()["paused"] == "true" })
	paused.DeleteFunc = func(event.DeleteEvent) bool { return true }
	paused.UpdateFunc = func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		if !ok {
			return false
		}
		return before.Status.Phase != e.ObjectNew.(*corev1.Pod).Status.Phase
	}
	return paused
}

// Ask calls predicates as a test does.
func Ask(p predicate.Predicate, pod *corev1.Pod) bool {
	return p.Create(event.CreateEvent{Object: pod, IsInInitialList: true}) &&
		p.Update(event.UpdateEvent{ObjectOld: pod, ObjectNew: pod.DeepCopy()}) &&
		p.Delete(event.DeleteEvent{Object: pod, DeleteStateUnknown: false}) && p.Generic(event.GenericEvent{Object: pod})
}
