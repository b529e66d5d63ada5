package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
)

func seller(price, owner string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "apple-seller", Annotations: map[string]string{"price": price},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "apple", UID: "1"}, {APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: "2"}}}}
}

// The text says that a restart finds the seller that a predicate has lost, and that the seller's own
// predicate loses a price that somebody else has written.
func TestThePredicateOfTheSellersDoesWhatTheTextSays(t *testing.T) {
	pod := seller("3", "fig")
	require.True(t, newsOfSellers.Create(event.CreateEvent{Object: pod, IsInInitialList: true}), "after a restart, a seller leads to its stall")
	require.False(t, newsOfSellers.Create(event.CreateEvent{Object: pod}), "the controller has made it itself")
	require.True(t, newsOfSellers.Delete(event.DeleteEvent{Object: pod}))

	priced := event.UpdateEvent{ObjectOld: pod, ObjectNew: seller("4", "fig")}
	require.False(t, newsOfSellers.Update(priced), "the question says that this is lost")
	cure := predicate.Or(newsOfSellers, predicate.AnnotationChangedPredicate{})
	require.True(t, cure.Update(priced), "and this the short cure")
	require.True(t, cure.Create(event.CreateEvent{Object: pod}), "which costs more looks")

	moved := seller("3", "fig")
	moved.OwnerReferences[1].UID = "3"
	require.True(t, newsOfSellers.Update(event.UpdateEvent{ObjectOld: pod, ObjectNew: moved}), "the stall of that name is another one")
	moved.OwnerReferences = moved.OwnerReferences[:1]
	require.True(t, newsOfSellers.Update(event.UpdateEvent{ObjectOld: pod, ObjectNew: moved}))
}
