package endpoints

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
)

// The clusters of other tests run the original, and this one does not. Both of our controllers run,
// in one manager.
func startWithoutOriginals(t *testing.T) (*realCluster, *rest.Config) {
	own := clustertest.WithOriginals(t, "-endpointslice-controller")
	config := own.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- controllers.Run(running, config, controllers.Options{},
			func(mgr manager.Manager, options controllers.Options) error {
				if err := Add(mgr, options); err != nil {
					return err
				}
				return AddSlices(mgr, options)
			})
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &realCluster{t, c, "default"}, config
}

func TestOnAClusterWithoutTheOriginalOurSlicesSayWhatOurEndpointsSay(t *testing.T) {
	r, config := startWithoutOriginals(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: "web", Labels: map[string]string{"team": "shop"},
		},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{
				{Name: "web", Port: 80, TargetPort: intstr.FromString("http")},
				{
					Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP,
					TargetPort: intstr.FromInt32(5353),
				},
			}},
	}
	require.NoError(t, r.Create(t.Context(), service))
	for n := range 3 {
		r.pod(fmt.Sprint("web-", n))
	}
	r.agrees("web", 6)
	slice := r.onlySlice()
	require.Equal(t, service.UID, metav1.GetControllerOf(slice).UID)
	require.Regexp(t, "^web-", slice.Name)

	t.Log("the API server takes what the controller writes: an update in place of the whole " +
		"object changes nothing")
	version := slice.ResourceVersion
	require.NoError(t, r.Update(t.Context(), slice))
	require.Equal(t, version, slice.ResourceVersion)

	t.Log("a zone that a Node gets later")
	node := &corev1.Node{}
	require.NoError(t, r.Get(t.Context(), client.ObjectKey{Name: *slice.Endpoints[0].NodeName},
		node))
	before := node.DeepCopy()
	node.Labels[corev1.LabelTopologyZone] = "east"
	require.NoError(t, r.Patch(t.Context(), node, client.MergeFrom(before)))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.Equal(c, "east", valueOr(r.onlySlice().Endpoints[0].Zone, ""))
	}, time.Minute, 20*time.Millisecond)

	t.Log("another program is refused")
	another := controllers.Options{Controller: controller.Options{SkipNameValidation: new(true)}}
	require.ErrorContains(t, controllers.Run(t.Context(), config, another, AddSlices),
		"somebody else does the work of the endpointslice-controller already")

	t.Log("the garbage collector deletes the slices with their Service")
	require.NoError(t, r.Delete(t.Context(), service))
	require.Eventually(t, func() bool {
		return len(r.slices()) == 0
	}, time.Minute, 20*time.Millisecond)
}

// slices returns the slices of the Service web.
func (r *realCluster) slices() []discoveryv1.EndpointSlice {
	r.Helper()
	var list discoveryv1.EndpointSliceList
	require.NoError(r, r.List(r.Context(), &list, client.InNamespace(r.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: "web"}))
	return list.Items
}

func (r *realCluster) onlySlice() *discoveryv1.EndpointSlice {
	r.Helper()
	all := r.slices()
	require.Len(r, all, 1)
	return &all[0]
}
