package replicaset

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func controlled(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(newReplicaSet(1), kind)}
}

// An orphan that is not looked at is never adopted. One that is looked at with each of its changes wakes a ReplicaSet
// whenever a kubelet reports its status.
func TestAnOrphanIsLookedAtWhenItBecomesOneAndWhenItsLabelsChange(t *testing.T) {
	alone, owned, leaving := settledPod("a", labelled(template)), settledPod("a", labelled(template), controlled), settledPod("a", labelled(template), deleted)
	other := settledPod("a")
	for _, c := range []struct {
		what     string
		old, now *corev1.Pod
		wanted   bool
	}{
		{"it has lost its controller", owned, alone, true},
		{"it has got a controller", alone, owned, false},
		{"its labels have changed", other, alone, true},
		{"its status has changed", alone, alone, false},
		{"it has a controller", owned, owned, false},
		{"it has a controller, and its labels have changed", settledPod("a", controlled), owned, false},
		{"it is being deleted now", alone, leaving, false},
		{"it is being deleted", leaving, leaving, false},
	} {
		require.Equal(t, c.wanted, becomesOrphan.Update(event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.now}), c.what)
	}
	require.True(t, becomesOrphan.Create(event.CreateEvent{Object: alone}))
	require.False(t, becomesOrphan.Create(event.CreateEvent{Object: owned}))
	require.False(t, becomesOrphan.Create(event.CreateEvent{Object: leaving}))
	require.False(t, becomesOrphan.Delete(event.DeleteEvent{Object: alone}))
	require.False(t, becomesOrphan.Generic(event.GenericEvent{Object: alone}))
}

// setsReader is a cache that has ReplicaSets.
type setsReader struct {
	client.Reader
	sets  []appsv1.ReplicaSet
	fails error
	asked int
}

func (r *setsReader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.asked++
	list.(*appsv1.ReplicaSetList).Items = r.sets
	if namespace := (&client.ListOptions{}).ApplyOptions(opts).Namespace; namespace != "default" {
		return errors.New("it was asked for the namespace " + namespace)
	}
	return r.fails
}

// The others would be reconciled with each Pod that a user makes.
func TestAnOrphanWakesTheReplicaSetsThatSelectIt(t *testing.T) {
	web, api, broken := newReplicaSet(1), newReplicaSet(1), newReplicaSet(1)
	api.Name, api.Spec.Selector = "api", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	broken.Name, broken.Spec.Selector = "broken", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "?"}}}
	objects := &setsReader{sets: []appsv1.ReplicaSet{*api, *broken, *web}}
	ctx := log.IntoContext(t.Context(), logr.Discard())
	pod := settledPod("a", labelled(template), func(pod *corev1.Pod) { pod.Namespace = "default" })
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}}}, wanting(objects)(ctx, pod))

	asked := objects.asked
	controlled(pod)
	require.Empty(t, wanting(objects)(ctx, pod))
	require.Equal(t, asked, objects.asked, "a Pod that has a controller is of no interest, and there are many")

	pod.OwnerReferences, objects.fails = nil, errors.New("no")
	require.Empty(t, wanting(objects)(ctx, pod))
}
