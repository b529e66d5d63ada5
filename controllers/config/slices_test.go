package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager/client"
)

// The clusters of other tests run the original, so this test has one of its own. The test takes a
// slice away from the controller by its label, and gives it back: so first a name is taken, and
// later there is a slice too many.
func TestTheControllerForSlicesNeedsTheOptionalRulesAndNoOthers(t *testing.T) {
	ctx := t.Context()
	own := clustertest.WithOriginals(t, "-endpointslice-controller")
	c, err := client.New(own.RESTConfig(), client.Options{})
	require.NoError(t, err)
	apply(t, c, optional)
	l := &record{own: home, streams: rights{}, elsewhere: rights{}, atHome: rights{}, lose: rights{
		{"discovery.k8s.io", "endpointslices", "create"}: true,
		{"discovery.k8s.io", "endpointslices", "update"}: true,
	}}
	runAsServiceAccount(t, own.RESTConfig(), l, "endpointslice")

	u := &users{t, c, "default"}
	require.NoError(t, u.Create(ctx, u.service()))
	u.until("an empty slice", func() bool { return len(u.slices()) == 1 })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	require.NoError(t, u.Create(ctx, pod))
	u.until("the Pod is in it", func() bool { return len(u.slices()[0].Endpoints) == 1 })
	taken := u.slices()[0]
	give := func(manager string, left int) {
		before := taken.DeepCopy()
		taken.Labels[discoveryv1.LabelManagedBy] = manager
		require.NoError(t, u.Patch(ctx, &taken, client.MergeFrom(before)))
		u.until("its manager is "+manager, func() bool { return len(u.slices()) == left })
	}
	give("me", 2)
	give("endpointslice-controller.k8s.io", 1)

	besides, _ := grantedBy(t, optional)
	l.settle(t, besides, rights{})
}

// slices returns all slices of the Service, whichever program manages them.
func (u *users) slices() []discoveryv1.EndpointSlice {
	u.Helper()
	var list discoveryv1.EndpointSliceList
	require.NoError(u, u.List(u.Context(), &list, client.InNamespace(u.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: "web"}))
	return list.Items
}
