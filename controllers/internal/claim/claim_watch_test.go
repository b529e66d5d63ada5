package claim

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
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

// An orphan that is not looked at is never adopted. One that is looked at with each of its changes wakes a ReplicaSet
// whenever a kubelet reports its status.
func TestAnOrphanIsLookedAtWhenItBecomesOneAndWhenItsLabelsChange(t *testing.T) {
	controller := newOwner("1", false).Reference()
	alone, owned, leaving := newPod(webLabels, false), newPod(webLabels, false, controller), newPod(webLabels, true)
	other := newPod(nil, false)
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
		{"it has a controller, and its labels have changed", newPod(nil, false, controller), owned, false},
		{"it is being deleted now", alone, leaving, false},
		{"it is being deleted", leaving, leaving, false},
	} {
		require.Equal(t, c.wanted, BecomesOrphan.Update(event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.now}), c.what)
	}
	require.True(t, BecomesOrphan.Create(event.CreateEvent{Object: alone}))
	require.False(t, BecomesOrphan.Create(event.CreateEvent{Object: owned}))
	require.False(t, BecomesOrphan.Create(event.CreateEvent{Object: leaving}))
	require.False(t, BecomesOrphan.Delete(event.DeleteEvent{Object: alone}))
	require.False(t, BecomesOrphan.Generic(event.GenericEvent{Object: alone}))
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
func TestAnOrphanWakesTheOwnersThatSelectIt(t *testing.T) {
	set := func(name string, selector *metav1.LabelSelector) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.ReplicaSetSpec{Selector: selector}}
	}
	objects := &setsReader{sets: []appsv1.ReplicaSet{
		set("api", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}),
		set("broken", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "?"}}}),
		set("all", &metav1.LabelSelector{}), set("web", &metav1.LabelSelector{MatchLabels: webLabels}),
	}}
	wanting := Wanting(objects, &appsv1.ReplicaSetList{}, func(set client.Object) *metav1.LabelSelector { return set.(*appsv1.ReplicaSet).Spec.Selector })
	logged := 0
	ctx, pod := log.IntoContext(t.Context(), funcr.New(func(string, string) { logged++ }, funcr.Options{})), newPod(webLabels, false)
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}}}, wanting(ctx, pod))

	asked := objects.asked
	require.Empty(t, wanting(ctx, newPod(webLabels, false, newOwner("1", false).Reference())))
	require.Equal(t, asked, objects.asked, "a Pod that has a controller is of no interest, and there are many")

	require.Zero(t, logged)

	objects.fails = errors.New("no")
	require.Empty(t, wanting(ctx, pod))
	require.Equal(t, 1, logged, "there is nobody to whom the error could be returned")
}
