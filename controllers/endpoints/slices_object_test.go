package endpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The garbage collector deletes the slices of an earlier Service of the same name.
func TestASliceBelongsToTheServiceThatItsOwnerReferenceNames(t *testing.T) {
	want := wantedOf(newBoard().service, nil, nil)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "web", UID: "web-uid"}
	for _, c := range []struct {
		name   string
		change func(*metav1.OwnerReference)
		owns   bool
	}{
		{"it", func(*metav1.OwnerReference) {}, true},
		{"an older one", func(o *metav1.OwnerReference) { o.UID = "older" }, false},
		{"something else", func(o *metav1.OwnerReference) { o.Kind = "Endpoints" }, false},
		{"something of another API", func(o *metav1.OwnerReference) {
			o.APIVersion = "example.com/v1"
		}, false},
	} {
		named := owner
		c.change(&named)
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "a"}
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{other, named}},
		}
		require.Equal(t, c.owns, want.owns(slice), c.name)
	}
	require.False(t, want.owns(&discoveryv1.EndpointSlice{}))
}

func TestAnUpdateOfASliceSaysWhatTriggeredIt(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{}
	stamp(slice, time.Time{})
	require.Nil(t, slice.Annotations)
	stamp(slice, noon.In(time.FixedZone("", 3600)))
	require.Equal(t,
		map[string]string{
			"endpoints.kubernetes.io/last-change-trigger-time": "2026-05-04T12:00:00Z",
		}, slice.Annotations)
	slice.Annotations["note"] = "yes"
	stamp(slice, noon.Add(time.Second))
	require.Equal(t, map[string]string{"note": "yes",
		"endpoints.kubernetes.io/last-change-trigger-time": "2026-05-04T12:00:01Z"},
		slice.Annotations)
	stamp(slice, time.Time{})
	require.Equal(t, map[string]string{"note": "yes"}, slice.Annotations,
		"that of an earlier change does not stay")
}

// A client that reads JSON expects a list.
func TestASliceWithoutEndpointsHasAnEmptyList(t *testing.T) {
	b := newBoard()
	b.carryOut(2)
	require.Equal(t, []discoveryv1.Endpoint{}, b.have[0].Endpoints)
	b.carryOut(2, podsOf(1)...)
	b.carryOut(2)
	require.Equal(t, []discoveryv1.Endpoint{}, b.have[0].Endpoints)
}

// The controller would take the same ports in another order for different ones.
func TestThePortsOfASliceAreReadInTheirOrder(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{
		{
			Name: new("http"), Port: new(int32(80)), Protocol: new(corev1.ProtocolTCP),
			AppProtocol: new("h2c"),
		},
		{Port: new(int32(53))}, {Name: new("all")},
	}}
	ports := portsIn(slice)
	require.ElementsMatch(t, []corev1.EndpointPort{
		{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, AppProtocol: new("h2c")},
		{Port: 53, Protocol: corev1.ProtocolTCP},
		{Name: "all", Port: -1, Protocol: corev1.ProtocolTCP},
	}, ports)
	slice.Ports[0], slice.Ports[2] = slice.Ports[2], slice.Ports[0]
	require.Equal(t, ports, portsIn(slice))
}
