package endpoints

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// slicesWorkOn is the Work for the slices of the Service web, each with at most two endpoints.
func slicesWorkOn(wasLookedAt bool, objects ...client.Object) simulation.Work {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n1", Labels: map[string]string{"topology.kubernetes.io/zone": "east"},
		},
	}
	work := workOn(wasLookedAt, append(objects, node)...)
	work.Indexes = addSliceIndexes
	work.New = func(c client.Client, _ client.WriteWaiter) reconcile.Reconciler {
		r := &sliceReconciler{client: c, live: c, events: events.NewFakeRecorder(1000), most: 2}
		if wasLookedAt {
			r.services.looked(webKey, &times{})
		}
		return r
	}
	work.Shows = func(ctx context.Context, c client.Client) string {
		var list discoveryv1.EndpointSliceList
		if err := c.List(ctx, &list); err != nil {
			return err.Error()
		}
		var lines []string
		for i := range list.Items {
			lines = append(lines, what(&list.Items[i]))
		}
		slices.Sort(lines)
		return strings.Join(lines, "; ")
	}
	return work
}

// Nodes would route to endpoints that do not exist, or would have one twice.
func TestWhicheverCallFailsTheSlicesAreRight(t *testing.T) {
	service := newBoard().service
	had := newBoard(families(corev1.IPv4Protocol, corev1.IPv6Protocol))
	had.carryOut(2, podsOf(1, 2, 3)...)
	there := []client.Object{service}
	for _, slice := range had.have {
		there = append(there, slice)
	}
	with := func(pods ...*corev1.Pod) (objects []client.Object) {
		for _, pod := range pods {
			objects = append(objects, pod)
		}
		return objects
	}
	taken := foreign("mesh")
	taken.Name = nameOf(service, 0)
	pods := append(podsOf(2, 3, 4, 5), runningPod(1, notReady))
	for _, c := range []struct {
		name string
		work simulation.Work
		want string
	}{
		{
			"a new Service", slicesWorkOn(false, append(with(podsOf(1, 2, 3)...), service)...),
			"[1 2] on [8080]; [3] on [8080]",
		},
		{
			"some to update, to create and to delete",
			slicesWorkOn(true, append(with(pods...), there...)...),
			"[(1) 2] on [8080]; [3] on [8080]; [4 5] on [8080]",
		},
		{
			"slices that are gone", slicesWorkOn(true, append(with(podsOf(1)...), service)...),
			"[1] on [8080]",
		},
		{
			"a name that is taken",
			slicesWorkOn(false, append(with(podsOf(1)...), service, taken)...),
			"[1] on [8080]; [99] on []",
		},
		{
			"a Service that is gone", slicesWorkOn(true, there[1:]...),
			"IPv6 [] on []; [1 2] on [8080]; [3] on [8080]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.work.SurvivesEachFailure(t))
		})
	}
}
