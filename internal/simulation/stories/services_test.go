package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The judge of Endpoints and slices computes what's right from the Service and its Pods. Where it's wrong,
// every controller would have to be wrong in the same way.

func webPod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := podWithoutOwner(name, map[string]string{"app": "red"})
	pod.Spec.NodeName = "n1"
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{
		{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
	}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func TestTheJudgeKnowsWhatAServiceAndItsPodsAskFor(t *testing.T) {
	unready := func(pod *corev1.Pod) { pod.Status.Conditions = nil }
	ends := func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }
	const of = " (a on n1)"
	for name, c := range map[string]struct {
		service           *corev1.Service
		pod               *corev1.Pod
		endpoints, slices []string
	}{
		"ready": {
			webService("s0", "red"), webPod("a"),
			[]string{"10.0.0.1 http=8080/TCP is ready" + of},
			[]string{"10.0.0.1 http=8080/TCP is ready: true, serving: true, terminating: false" + of},
		},
		"of two families": {
			webService("s1", "red"), webPod("a"),
			[]string{"10.0.0.1 http=8080/TCP is ready" + of},
			[]string{
				"10.0.0.1 http=8080/TCP is ready: true, serving: true, terminating: false" + of,
				"fd00::1 http=8080/TCP is ready: true, serving: true, terminating: false" + of,
			},
		},
		"not ready": {
			webService("s0", "red"), webPod("a", unready),
			[]string{"10.0.0.1 http=8080/TCP is not ready" + of},
			[]string{"10.0.0.1 http=8080/TCP is ready: false, serving: false, terminating: false" + of},
		},
		"not ready, and published": {
			webService("s2", ""), webPod("a", unready, func(pod *corev1.Pod) {
				pod.Labels = map[string]string{"tier": "front"}
			}),
			[]string{"10.0.0.1 http=8080/TCP is ready" + of},
			[]string{"10.0.0.1 http=8080/TCP is ready: true, serving: false, terminating: false" + of},
		},
		"being deleted": {
			webService("s0", "red"), webPod("a", ends), nil,
			[]string{"10.0.0.1 http=8080/TCP is ready: false, serving: true, terminating: true" + of},
		},
		"over": {webService("s0", "red"), webPod("a", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodFailed
		}), nil, nil},
		"not selected": {webService("s0", "green"), webPod("a"), nil, nil},
		"without an address": {webService("s0", "red"), webPod("a", func(pod *corev1.Pod) {
			pod.Status.PodIPs = nil
		}), nil, nil},
		"without the port": {webService("s0", "red"), webPod("a", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = nil
		}), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{c.pod}
			require.ElementsMatch(t, c.endpoints, plainly(endpointsOf(c.service, pods)))
			require.ElementsMatch(t, c.slices, plainly(slicesFor(c.service, pods)))
		})
	}
	byNumber := webService("s0", "red")
	byNumber.Spec.Ports[0].TargetPort = intstr.FromInt32(9000)
	require.Equal(t, []string{"10.0.0.1 http=9000/TCP is ready" + of},
		plainly(endpointsOf(byNumber, []*corev1.Pod{webPod("a")})))
}

// Two controllers may group the same addresses in two ways, and both are right.
func TestTheJudgeDoesNotCareHowTargetsAreGrouped(t *testing.T) {
	ports := []corev1.EndpointPort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}
	address := []corev1.EndpointAddress{{IP: "10.0.0.1"}}
	together := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{
		{Addresses: address, Ports: ports},
	}}
	apart := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{
		{Addresses: address, Ports: ports[1:]}, {Addresses: address, Ports: ports[:1]},
	}}
	require.True(t, same(targetsIn(together), targetsIn(apart)))
	apart.Subsets = append(apart.Subsets, apart.Subsets[0])
	require.False(t, same(targetsIn(together), targetsIn(apart)), "one stands there twice")

	slice := func(ips ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("a"), Port: new(int32(1))}}}
		for _, ip := range ips {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
		}
		return s
	}
	one := targetsInSlices([]*discoveryv1.EndpointSlice{slice("10.0.0.1", "10.0.0.2")})
	two := targetsInSlices([]*discoveryv1.EndpointSlice{slice("10.0.0.2"), slice("10.0.0.1")})
	require.True(t, same(one, two))
	require.False(t, same(one, two[:1]))
}

// A target of a Pod that was replaced by one with its name and address isn't the same.
func TestTheJudgeTellsPodsOfOneNameApart(t *testing.T) {
	require.False(t, same([]target{{ip: "1", pod: "a", uid: "x"}}, []target{{ip: "1", pod: "a", uid: "y"}}))
}
