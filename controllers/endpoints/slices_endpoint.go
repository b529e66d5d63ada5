package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// Endpoints only say whether an address is ready. A slice also says whether it serves, whether it
// is terminating, and in which zone it is. So a slice lists a terminating Pod as long as it runs:
// if no other Pod is left, traffic may still go to it.

// group has endpoints that may share a slice: they have one address type, and serve on the same
// ports.
type group struct {
	addresses discoveryv1.AddressType
	ports     []corev1.EndpointPort // sorted; none for Pods that have none of the Service's ports
	endpoints []discoveryv1.Endpoint
}

// nodes has the zones of the Nodes that exist, by name. A zone is "" if the Node has no label for
// it.
type nodes map[string]string

// groupsOf returns a Service's endpoints in groups. The order of the Pods doesn't matter.
func groupsOf(service *corev1.Service, pods []*corev1.Pod, nodes nodes) (groups []group) {
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Compare(a.Name, b.Name)
	})
	for _, addresses := range addressTypesOf(service) {
		first := len(groups)
		for _, pod := range pods {
			endpoint, ok := endpointOf(service, pod, addresses, nodes)
			if !ok {
				continue
			}
			ports := portsOf(service, pod)
			slices.SortFunc(ports, comparePorts)
			i := slices.IndexFunc(groups[first:], func(g group) bool {
				return samePorts(g.ports, ports)
			})
			if i < 0 {
				i = len(groups) - first
				groups = append(groups, group{addresses: addresses, ports: ports})
			}
			groups[first+i].endpoints = append(groups[first+i].endpoints, endpoint)
		}
	}
	return groups
}

// addressTypesOf returns the address types for which a Service has slices. If the API server has
// not set its IP families, it's the type of the Service's own address, or both types if it has
// none.
func addressTypesOf(service *corev1.Service) (types []discoveryv1.AddressType) {
	switch {
	case len(service.Spec.IPFamilies) > 0:
		for _, family := range service.Spec.IPFamilies {
			types = append(types, discoveryv1.AddressType(family))
		}
		return types
	case hasClusterIP(service):
		return []discoveryv1.AddressType{
			discoveryv1.AddressType(familyOfIP(netutils.ParseIPSloppy(service.Spec.ClusterIP))),
		}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
}

// endpointOf returns a Pod as an endpoint. ok is false if the Pod has finished, or has no address
// of that type, or if its Node is gone and the Service doesn't have publishNotReadyAddresses.
func endpointOf(
	service *corev1.Service, pod *corev1.Pod, addresses discoveryv1.AddressType, nodes nodes,
) (e discoveryv1.Endpoint, ok bool) {
	zone, hasNode := nodes[pod.Spec.NodeName]
	all := service.Spec.PublishNotReadyAddresses
	ip := ipIn(corev1.IPFamily(addresses), pod)
	if ip == "" || !podstate.IsActive(pod) && !podstate.IsTerminating(pod) || !hasNode && !all {
		return e, false
	}
	_, serving := podstate.Ready(pod)
	terminating := pod.DeletionTimestamp != nil
	is := &[3]bool{all || serving && !terminating, serving, terminating}
	e = discoveryv1.Endpoint{
		Addresses: []string{ip},
		Conditions: discoveryv1.EndpointConditions{
			Ready: &is[0], Serving: &is[1], Terminating: &is[2],
		},
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
	}
	if pod.Spec.NodeName != "" {
		e.NodeName = new(pod.Spec.NodeName)
	}
	if zone != "" {
		e.Zone = new(zone)
	}
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == service.Name &&
		pod.Namespace == service.Namespace {
		e.Hostname = new(pod.Spec.Hostname)
	}
	e.Hints = hintsOf(service, e)
	return e, true
}

// hintsOf returns the zones and nodes from which an endpoint should be used, if the Service wants
// nearby endpoints. An endpoint that isn't ready gets no hints.
func hintsOf(service *corev1.Service, e discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	var hints discoveryv1.EndpointHints
	if distribution := service.Spec.TrafficDistribution; distribution != nil &&
		*e.Conditions.Ready {
		onNode := *distribution == corev1.ServiceTrafficDistributionPreferSameNode
		inZone := onNode || *distribution == corev1.ServiceTrafficDistributionPreferSameZone ||
			*distribution == corev1.ServiceTrafficDistributionPreferClose
		if inZone && e.Zone != nil {
			hints.ForZones = []discoveryv1.ForZone{{Name: *e.Zone}}
		}
		if onNode && e.NodeName != nil {
			hints.ForNodes = []discoveryv1.ForNode{{Name: *e.NodeName}}
		}
	}
	if len(hints.ForZones)+len(hints.ForNodes) == 0 {
		return nil
	}
	return &hints
}

// sameEndpoint compares all fields of an endpoint that the controller sets.
func sameEndpoint(a, b *discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) &&
		same(a.Conditions.Ready, b.Conditions.Ready) &&
		same(a.Conditions.Serving, b.Conditions.Serving) &&
		same(a.Conditions.Terminating, b.Conditions.Terminating) &&
		same(a.NodeName, b.NodeName) && same(a.Zone, b.Zone) && same(a.Hostname, b.Hostname) &&
		compareTargets(a.TargetRef, b.TargetRef) == 0 && sameHints(a.Hints, b.Hints)
}

func sameHints(a, b *discoveryv1.EndpointHints) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.ForZones, b.ForZones) && slices.Equal(a.ForNodes, b.ForNodes)
}

// same compares the values, or nil.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func samePorts(a, b []corev1.EndpointPort) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.EndpointPort) bool {
		return comparePorts(a, b) == 0
	})
}
