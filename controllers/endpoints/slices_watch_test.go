package endpoints

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
)

// A slice that another client has changed would stay wrong, or each of the controller's own writes
// would lead to another reconcile.
func TestWhomAnEventOfASliceWakes(t *testing.T) {
	own := client.ObjectKey{Namespace: "default", Name: "web-1"}
	slice := func(version string,
		changes ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		slice := foreign(sliceManager)
		slice.Name, slice.ResourceVersion = own.Name, version
		for _, change := range changes {
			change(slice)
		}
		return slice
	}
	of := func(service string) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			s.Labels["kubernetes.io/service-name"] = service
		}
	}
	byMesh := func(s *discoveryv1.EndpointSlice) {
		s.Labels["endpointslice.kubernetes.io/managed-by"] = "mesh"
	}
	for _, c := range []struct {
		name  string
		event any
		want  []string
	}{
		{"this controller has made it", event.CreateEvent{Object: slice("5")}, nil},
		{"somebody has made it", event.CreateEvent{Object: slice("6")}, []string{"web"}},
		{"somebody else manages it", event.CreateEvent{Object: slice("6", byMesh)}, nil},
		{"it is of no Service", event.CreateEvent{Object: slice("6", of(""))}, nil},
		{
			"this controller has changed it",
			event.UpdateEvent{ObjectOld: slice("4"), ObjectNew: slice("5")}, nil,
		},
		{
			"somebody has changed it",
			event.UpdateEvent{ObjectOld: slice("5"), ObjectNew: slice("6")}, []string{"web", "web"},
		},
		{
			"somebody has given it to another Service",
			event.UpdateEvent{ObjectOld: slice("5"), ObjectNew: slice("6", of("shop"))},
			[]string{"web", "shop"},
		},
		{
			"somebody has taken it",
			event.UpdateEvent{ObjectOld: slice("5"), ObjectNew: slice("6", byMesh)},
			[]string{"web"},
		},
		{"it is gone", event.DeleteEvent{Object: slice("5")}, []string{"web"}},
	} {
		var written memory
		written.writes(own)
		written.wrote(own, "5", time.Time{})
		require.Equal(t, c.want, wakes(t, sliceEvents{&written}.handler(), c.event), c.name)
		if _, isGone := c.event.(event.DeleteEvent); isGone {
			require.Empty(t, written.of,
				"what is remembered of a slice that is gone would stay for ever")
		}
	}
}

// A cloud writes the zone of a Node late, and heartbeats change a Node all the time.
func TestWhomAnEventOfANodeWakes(t *testing.T) {
	node := func(zone, note string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "n1", Labels: map[string]string{"topology.kubernetes.io/zone": zone},
			Annotations: map[string]string{"note": note},
		}}
	}
	elsewhere := runningPod(2, func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Labels = "n2", map[string]string{"version": "2"}
	})
	starting := runningPod(3, withIPs(), func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"version": "2"}
	})
	cache := func(funcs interceptor.Funcs) client.Reader {
		builder := fake.NewClientBuilder().WithInterceptorFuncs(funcs).WithObjects(
			selecting("web", map[string]string{"app": "web"}), selecting("new",
				map[string]string{"version": "2"}), runningPod(1), elsewhere, starting)
		builder.WithIndex(&corev1.Service{}, sliceSelectorIndex, selectorIndexValues)
		builder.WithIndex(&corev1.Pod{}, nodeIndex, func(o client.Object) []string {
			return []string{o.(*corev1.Pod).Spec.NodeName}
		})
		return builder.Build()
	}
	events := nodeEvents{
		cache(simulation.Sharing(t)),
		podEvents{services: cache(simulation.Sharing(t)), index: sliceSelectorIndex},
	}
	for _, c := range []struct {
		name  string
		event any
		want  []string
	}{
		{
			"it was there at the start",
			event.CreateEvent{Object: node("east", ""), IsInInitialList: true}, nil,
		},
		{"it has come", event.CreateEvent{Object: node("east", "")}, []string{"web"}},
		{
			"it has another zone",
			event.UpdateEvent{ObjectOld: node("", ""), ObjectNew: node("east", "")},
			[]string{"web"},
		},
		{
			"it has changed",
			event.UpdateEvent{ObjectOld: node("east", ""), ObjectNew: node("east", "yes")}, nil,
		},
		{"it is gone", event.DeleteEvent{Object: node("east", "")}, []string{"web"}},
	} {
		require.Equal(t, c.want, wakes(t, events.handler(), c.event), c.name)
	}

	fails := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
		...client.ListOption) error {
		return errors.New("not there")
	}}
	var logged []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) {
		logged = append(logged, line)
	}, funcr.Options{}))
	nodeEvents{cache(fails), events.pods}.wakeServicesOn(ctx, &woken{}, node("east", ""))
	require.Len(t, logged, 1)
	require.Contains(t, logged[0], "not there")
	require.Contains(t, logged[0], "n1")
}
