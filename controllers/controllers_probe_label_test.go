package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// sliceProbe is a probe with an answer whose name nobody knows.
var sliceProbe = Probe{
	Original: "endpointslice-controller", Optional: true,
	Object: serviceProbe.Object, Answer: &discoveryv1.EndpointSlice{}, AnswerLabel: discoveryv1.LabelServiceName,
}

// makesSlices answers a Service with an object of another name.
func (w *world) makesSlices(service client.Object) error {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.GetNamespace(), GenerateName: service.GetName() + "-", Labels: map[string]string{discoveryv1.LabelServiceName: service.GetName()},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	return w.live.Create(w.Context(), slice, client.FieldOwner("kube-controller-manager"))
}

// A watch may be late, and a get is not.
func TestAnAnswerIsSeenThoughTheWatchIsLate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"}, DelayEvents: time.Hour})
		stop := w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{}, time.Minute), "has answered")
		stopToo := w.other(time.Second, w.makesSlices, &corev1.ServiceList{})
		defer stopToo()
		require.ErrorContains(w, w.starts(sliceProbe, ProbeOptions{}, time.Minute), "has answered")
	})
}
