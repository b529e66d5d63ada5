package endpoints

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// someNodes has n1 in the zone east, and n2 without a zone.
var someNodes = nodes{"n1": "east", "n2": ""}

// showEndpoint returns an endpoint as text: its address, and what is not the default.
func showEndpoint(e *discoveryv1.Endpoint) string {
	text := strings.Join(e.Addresses, "+")
	for _, c := range []struct {
		is     *bool
		usual  bool
		differ string
	}{{e.Conditions.Ready, true, " not ready"}, {e.Conditions.Serving, true, " not serving"},
		{e.Conditions.Terminating, false, " terminating"}} {
		if *c.is != c.usual {
			text += c.differ
		}
	}
	for _, c := range []struct {
		what  string
		value *string
	}{{"on", e.NodeName}, {"in", e.Zone}, {"as", e.Hostname}} {
		if c.value != nil {
			text += " " + c.what + " " + *c.value
		}
	}
	if e.Hints != nil {
		text += fmt.Sprint(" for ", e.Hints.ForZones, e.Hints.ForNodes)
	}
	return text
}

// showGroups returns groups as text.
func showGroups(groups []group) (lines []string) {
	for _, g := range groups {
		var endpoints, ports []string
		for i := range g.endpoints {
			endpoints = append(endpoints, showEndpoint(&g.endpoints[i]))
		}
		for _, p := range g.ports {
			ports = append(ports, fmt.Sprintf("%s=%d/%s", p.Name, p.Port, p.Protocol))
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", g.addresses, strings.Join(ports, " "),
			strings.Join(endpoints, ", ")))
	}
	return lines
}

func distributes(how string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.TrafficDistribution = &how }
}

// A node sends traffic to endpoints that are ready and, if there are none, to terminating ones that
// still serve.
func TestWhatASliceSaysAboutAPod(t *testing.T) {
	onNode := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeName = name }
	}
	named := func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-0", "web" }
	for _, c := range []struct {
		name    string
		service *corev1.Service
		pod     *corev1.Pod
		want    string // empty if it is not listed
	}{
		{"it is ready", webService(), runningPod(1), "10.0.0.1 on n1 in east"},
		{
			"it is not ready", webService(), runningPod(1, notReady),
			"10.0.0.1 not ready not serving on n1 in east",
		},
		{
			"it is being deleted, and serves", webService(), runningPod(1, deleted),
			"10.0.0.1 not ready terminating on n1 in east",
		},
		{
			"it is being deleted, and does not serve", webService(),
			runningPod(1, deleted, notReady),
			"10.0.0.1 not ready not serving terminating on n1 in east",
		},
		{
			"all are published: not ready", webService(publishes), runningPod(1, notReady),
			"10.0.0.1 not serving on n1 in east",
		},
		{
			"all are published: being deleted", webService(publishes), runningPod(1, deleted),
			"10.0.0.1 terminating on n1 in east",
		},
		{"it has failed", webService(publishes), runningPod(1, failed), ""},
		{"it has no address", webService(publishes), runningPod(1, withIPs()), ""},
		{
			"its address is one that the API server refuses", webService(),
			runningPod(1, withIPs("127.0.0.1")), "",
		},
		{
			"its Node says nothing about a zone", webService(), runningPod(1, onNode("n2")),
			"10.0.0.1 on n2",
		},
		{"its Node is gone", webService(), runningPod(1, onNode("n3")), ""},
		{
			"its Node is gone, and all are published", webService(publishes),
			runningPod(1, onNode("n3")), "10.0.0.1 on n3",
		},
		{
			"it has no Node, and all are published", webService(publishes),
			runningPod(1, onNode("")), "10.0.0.1",
		},
		{
			"it has a name in the Service", webService(), runningPod(1, named),
			"10.0.0.1 on n1 in east as web-0",
		},
		{"it has a name in another Service", webService(),
			runningPod(1, named, func(p *corev1.Pod) {
				p.Spec.Subdomain = "db"
			}), "10.0.0.1 on n1 in east"},
		{"it has a subdomain, and no name", webService(), runningPod(1, func(p *corev1.Pod) {
			p.Spec.Subdomain = "web"
		}), "10.0.0.1 on n1 in east"},
		{
			"the same zone is preferred", webService(distributes("PreferSameZone")), runningPod(1),
			"10.0.0.1 on n1 in east for [{east}] []",
		},
		{
			"what is close is preferred", webService(distributes("PreferClose")), runningPod(1),
			"10.0.0.1 on n1 in east for [{east}] []",
		},
		{
			"the same Node is preferred", webService(distributes("PreferSameNode")), runningPod(1),
			"10.0.0.1 on n1 in east for [{east}] [{n1}]",
		},
		{
			"the same Node is preferred, and there is no zone",
			webService(distributes("PreferSameNode")), runningPod(1, onNode("n2")),
			"10.0.0.1 on n2 for [] [{n2}]",
		},
		{
			"the same zone is preferred, and there is none",
			webService(distributes("PreferSameZone")), runningPod(1, onNode("n2")),
			"10.0.0.1 on n2",
		},
		{
			"nobody prefers what is not ready", webService(distributes("PreferSameZone")),
			runningPod(1, notReady), "10.0.0.1 not ready not serving on n1 in east",
		},
		{
			"a preference that nobody knows", webService(distributes("PreferRemote")),
			runningPod(1), "10.0.0.1 on n1 in east",
		},
	} {
		var want []string
		if c.want != "" {
			want = []string{"IPv4 http=8080/TCP: " + c.want}
		}
		require.Equal(t, want, showGroups(groupsOf(c.service, []*corev1.Pod{c.pod}, someNodes)),
			c.name)
	}
}

func TestAnEndpointNamesItsPod(t *testing.T) {
	groups := groupsOf(webService(), []*corev1.Pod{runningPod(1)}, someNodes)
	require.Equal(t, &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "pod-1",
		UID: "pod-1"}, groups[0].endpoints[0].TargetRef)
}

// A client with IPv6 only could not use any of a list of IPv4 addresses.
func TestThereAreSlicesOfEachAddressTypeOfTheService(t *testing.T) {
	const four, six = corev1.IPv4Protocol, corev1.IPv6Protocol
	pods := []*corev1.Pod{
		runningPod(1, withIPs("10.0.0.1", "fd00::1")), runningPod(2),
		runningPod(3, withIPs("fd00:0::0003")),
	}
	v4, v6 := "IPv4 http=8080/TCP: 10.0.0.1 on n1 in east, 10.0.0.2 on n1 in east",
		"IPv6 http=8080/TCP: fd00::1 on n1 in east, fd00::3 on n1 in east"
	old := func(ip string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.IPFamilies = ip, nil }
	}
	for _, c := range []struct {
		name    string
		service *corev1.Service
		want    []string
	}{
		{"of one", webService(families(four)), []string{v4}},
		{"of the other", webService(families(six)), []string{v6}},
		{"of both", webService(families(six, four)), []string{v6, v4}},
		{"of both, and headless", webService(headless, families(four, six)), []string{v4, v6}},
		{"of an address alone", webService(old("10.96.0.1")), []string{v4}},
		{"of an address of the other family alone", webService(old("fd00::9")), []string{v6}},
		{"of nothing: both", webService(old("None")), []string{v4, v6}},
	} {
		require.Equal(t, c.want, showGroups(groupsOf(c.service, pods, someNodes)), c.name)
	}
}

// All endpoints of a slice serve on all of its ports.
func TestPodsWithOtherPortsAreInOtherGroups(t *testing.T) {
	two := webService(func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports,
			corev1.ServicePort{Name: "admin", Port: 81, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromString("admin")})
	})
	withAdmin := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			corev1.ContainerPort{Name: "admin", ContainerPort: 9000, Protocol: corev1.ProtocolTCP})
	}
	withoutAny := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil }
	pods := []*corev1.Pod{
		runningPod(1), runningPod(2, withAdmin), runningPod(3, withoutAny), runningPod(4),
	}
	require.Equal(t, []string{
		"IPv4 http=8080/TCP: 10.0.0.1 on n1 in east, 10.0.0.4 on n1 in east",
		"IPv4 admin=9000/TCP http=8080/TCP: 10.0.0.2 on n1 in east",
		"IPv4 : 10.0.0.3 on n1 in east",
	}, showGroups(groupsOf(two, pods, someNodes)))
	require.Equal(t, []string{"IPv4 : 10.0.0.1 on n1 in east"},
		showGroups(groupsOf(webService(headless, withoutPorts), pods[:1], someNodes)))
}

// The controller has to write each difference, or nodes route by an old state.
func TestEndpointsAreTheSameIfNothingDiffers(t *testing.T) {
	full := func() *discoveryv1.Endpoint {
		return &discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.1"}, NodeName: new("n1"), Zone: new("east"),
			Hostname: new("web-0"),
			Conditions: discoveryv1.EndpointConditions{
				Ready: new(true), Serving: new(true), Terminating: new(false),
			},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: "1"},
			Hints: &discoveryv1.EndpointHints{
				ForZones: []discoveryv1.ForZone{{Name: "east"}},
				ForNodes: []discoveryv1.ForNode{{Name: "n1"}},
			},
		}
	}
	require.True(t, sameEndpoint(full(), full()))
	for i, change := range []func(*discoveryv1.Endpoint){
		func(e *discoveryv1.Endpoint) { e.Addresses[0] = "10.0.0.2" },
		func(e *discoveryv1.Endpoint) { e.Addresses = append(e.Addresses, "10.0.0.2") },
		func(e *discoveryv1.Endpoint) { e.NodeName = nil },
		func(e *discoveryv1.Endpoint) { *e.Zone = "west" },
		func(e *discoveryv1.Endpoint) { e.Hostname = nil },
		func(e *discoveryv1.Endpoint) { *e.Conditions.Ready = false },
		func(e *discoveryv1.Endpoint) { e.Conditions.Serving = nil },
		func(e *discoveryv1.Endpoint) { *e.Conditions.Terminating = true },
		func(e *discoveryv1.Endpoint) { e.TargetRef.UID = "2" },
		func(e *discoveryv1.Endpoint) { e.TargetRef = nil },
		func(e *discoveryv1.Endpoint) { e.Hints = nil },
		func(e *discoveryv1.Endpoint) { e.Hints.ForZones[0].Name = "west" },
		func(e *discoveryv1.Endpoint) { e.Hints.ForNodes = nil },
	} {
		changed := full()
		change(changed)
		require.False(t, sameEndpoint(full(), changed), "change %d", i)
		require.False(t, sameEndpoint(changed, full()), "change %d", i)
	}
	other := full()
	other.TargetRef.ResourceVersion = "7"
	require.True(t, sameEndpoint(full(), other),
		"an older Kubernetes wrote it, and it means nothing")
}
