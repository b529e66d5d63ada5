package main

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	teamLabel         = "team"                         // on a Namespace: the team that it belongs to
	contactAnnotation = "contact"                      // on a Namespace: whom to call
	managedByLabel    = "app.kubernetes.io/managed-by" // on a ConfigMap: who made it
)

// op is what has to be written.
type op string

const (
	leave  op = "leave"
	create op = "create"
	update op = "update"
	remove op = "delete"
)

// action is a decision.
type action struct {
	op        op
	configMap *corev1.ConfigMap // what to write, or what to delete
}

// decide compares what there is with what should be. Both objects may be nil: the
// Namespace if it is gone or no longer selected, the ConfigMap if it is not there. They
// belong to the caches, so decide changes neither. name is the ConfigMap's name, and us
// is the controller's.
func decide(namespace *corev1.Namespace, found *corev1.ConfigMap, name, us string) action {
	switch {
	case found != nil && found.Labels[managedByLabel] != us:
		return action{op: leave} // somebody else's
	case namespace == nil && found != nil:
		return action{remove, found}
	case namespace == nil, namespace.DeletionTimestamp != nil:
		return action{op: leave} // everything in it is being deleted, and nothing can be created
	}
	data := map[string]string{"team": namespace.Labels[teamLabel], "contact": namespace.Annotations[contactAnnotation]}
	switch {
	case found == nil:
		return action{create, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name, Labels: map[string]string{managedByLabel: us}},
			Data:       data,
		}}
	case maps.Equal(found.Data, data) && len(found.BinaryData) == 0:
		return action{op: leave}
	case found.Immutable != nil && *found.Immutable:
		return action{remove, found} // its deletion is an event, too, and then it is created again
	}
	changed := found.DeepCopy()
	changed.Data, changed.BinaryData = data, nil
	return action{update, changed}
}
