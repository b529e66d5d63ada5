package endpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// sliceWatches are the controller's watches of slices.
var sliceWatches = fakeapi.Match{UserAgent: agent, Verb: "watch", Resource: "endpointslices"}

// sliced is a world with the controller for slices, at most two endpoints in each.
type sliced struct{ *world }

func inSlicedWorld(t *testing.T, test func(t *testing.T, w sliced)) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings = SliceSettings{MaxPerSlice: 2}
		w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1",
			Labels: map[string]string{"topology.kubernetes.io/zone": "east"}}})
		test(t, sliced{w})
	})
}

// all returns all slices of the Service web, whichever program manages them, sorted by content.
func (w sliced) all() (all []*discoveryv1.EndpointSlice) {
	w.t.Helper()
	var list discoveryv1.EndpointSliceList
	require.NoError(w.t, w.users.List(w.t.Context(), &list, client.InNamespace("default"),
		client.MatchingLabels{"kubernetes.io/service-name": "web"}))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	slices.SortFunc(all, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(what(a), what(b))
	})
	return all
}

// what returns a slice without its name as text.
func what(slice *discoveryv1.EndpointSlice) string {
	return strings.TrimSpace(strings.TrimPrefix(showSlice(slice), slice.Name))
}

// says waits, and requires that the slices have this content.
func (w sliced) says(why string, lines ...string) {
	w.t.Helper()
	w.settle()
	var have []string
	for _, slice := range w.all() {
		have = append(have, what(slice))
	}
	require.Equal(w.t, lines, have, why)
}

// wrote requires that the controller has made exactly these writes since the last call.
func (w sliced) wrote(why string, creates, updates, deletes int) {
	w.t.Helper()
	want := map[string]int{
		"create endpointslices": creates, "update endpointslices": updates,
		"delete endpointslices": deletes,
	}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	require.Equal(w.t, want, w.did(), why)
}

// notes returns the notes of all events.
func (w sliced) notes() (notes []string) {
	w.t.Helper()
	var list eventsv1.EventList
	require.NoError(w.t, w.users.List(w.t.Context(), &list))
	for _, event := range list.Items {
		require.Equal(w.t, []string{"Service", "endpoint-slice-controller",
			"FailedToUpdateEndpointSlices", "Warning"},
			[]string{event.Regarding.Kind, event.ReportingController, event.Reason, event.Type})
		notes = append(notes, event.Note)
	}
	return notes
}

// foreign is a slice of the Service web that another program manages.
func foreign(manager string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web-of-", manager),
			Labels: map[string]string{
				"kubernetes.io/service-name":             "web",
				"endpointslice.kubernetes.io/managed-by": manager,
			}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{
			{
				Addresses:  []string{"192.0.2.99"},
				Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			},
		},
	}
}
