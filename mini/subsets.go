package mini

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.

// maxCapacity is how many Pods one Endpoints object lists at most: all of it is sent to
// every node at each change of one of them.
const maxCapacity = 1000

// EndpointSubsets returns where the Pods can be reached on the ports of the Service, in
// canonical form. If there are too many Pods, the ready ones come first, and the result
// is truncated.
func EndpointSubsets(
	service *corev1.Service, pods []*corev1.Pod,
) (subsets []corev1.EndpointSubset, truncated bool) {
	var ready, notReady []corev1.EndpointSubset // one for each Pod
	for _, pod := range pods {
		address, ok := podToEndpointAddress(service, pod)
		ports := portsOf(service, pod)
		// Only a headless Service may have no ports: it is a name for the addresses.
		_, isReady := podReady(pod)
		useful := len(ports) > 0 ||
			len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone
		switch addresses := []corev1.EndpointAddress{address}; {
		case !ok || !useful || !shouldPodBeInEndpoints(service, pod):
		case service.Spec.PublishNotReadyAddresses || isReady:
			one := corev1.EndpointSubset{Addresses: addresses, Ports: ports}
			ready = append(ready, one)
		default:
			one := corev1.EndpointSubset{NotReadyAddresses: addresses, Ports: ports}
			notReady = append(notReady, one)
		}
	}
	all := append(ready, notReady...)
	return RepackSubsets(all[:min(len(all), maxCapacity)]), len(all) > maxCapacity
}

// shouldPodBeInEndpoints is false for a Pod that has ended, and for one that is ending.
// The latter still serves the Services that publish addresses in any state.
func shouldPodBeInEndpoints(service *corev1.Service, pod *corev1.Pod) bool {
	return !isPodTerminal(pod) &&
		(pod.DeletionTimestamp == nil || service.Spec.PublishNotReadyAddresses)
}

// podToEndpointAddress returns the Pod's address in the Service's IP family. A Pod that
// has none is not ok: it has not started yet.
func podToEndpointAddress(
	service *corev1.Service, pod *corev1.Pod,
) (address corev1.EndpointAddress, ok bool) {
	families := service.Spec.IPFamilies
	wantIPv6 := len(families) > 0 && families[0] == corev1.IPv6Protocol
	for _, podIP := range pod.Status.PodIPs {
		ip, err := netip.ParseAddr(podIP.IP)
		if err != nil || ip.Is6() != wantIPv6 {
			continue
		}
		address = corev1.EndpointAddress{
			IP: ip.String(), NodeName: new(pod.Spec.NodeName),
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			},
		}
		if pod.Spec.Subdomain == service.Name {
			address.Hostname = pod.Spec.Hostname // DNS knows the Pod as hostname.service
		}
		return address, true
	}
	return address, false
}

// portsOf returns the ports of the Service that the Pod has.
func portsOf(service *corev1.Service, pod *corev1.Pod) (ports []corev1.EndpointPort) {
	for _, port := range service.Spec.Ports {
		if number, ok := FindPort(pod, &port); ok {
			ports = append(ports, corev1.EndpointPort{
				Name: port.Name, Port: number,
				Protocol: port.Protocol, AppProtocol: port.AppProtocol,
			})
		}
	}
	return ports
}

// FindPort returns the number of the Service's port in this Pod. A port with a name may
// have another number in each Pod, and none in some.
func FindPort(pod *corev1.Pod, port *corev1.ServicePort) (number int32, found bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c) // a sidecar: it runs as long as the Pod
		}
	}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

// RepackSubsets returns the same endpoints in canonical form: ports that the same
// addresses serve share a subset, and everything is sorted. So equal content is equal,
// whatever the order of the Pods was.
func RepackSubsets(subsets []corev1.EndpointSubset) (packed []corev1.EndpointSubset) {
	byPort := map[string]*corev1.EndpointSubset{} // each has one port, or none
	for _, subset := range subsets {
		add := func(key string, ports ...corev1.EndpointPort) {
			if byPort[key] == nil {
				byPort[key] = &corev1.EndpointSubset{Ports: ports}
			}
			s := byPort[key]
			s.Addresses = append(s.Addresses, subset.Addresses...)
			s.NotReadyAddresses = append(s.NotReadyAddresses, subset.NotReadyAddresses...)
		}
		if len(subset.Ports) == 0 {
			add("")
		}
		for _, port := range subset.Ports {
			add(portKey(port), port)
		}
	}
	position := map[string]int{} // of the subset with these addresses in packed
	for _, key := range slices.Sorted(maps.Keys(byPort)) {
		s := byPort[key]
		same := sortAddresses(s.Addresses) + "|" + sortAddresses(s.NotReadyAddresses)
		if i, ok := position[same]; ok {
			packed[i].Ports = append(packed[i].Ports, s.Ports...)
			continue
		}
		position[same] = len(packed)
		packed = append(packed, *s)
	}
	return packed
}

// portKey is a text because AppProtocol is a pointer: equal ports need not be ==.
func portKey(port corev1.EndpointPort) string {
	protocol := ""
	if port.AppProtocol != nil {
		protocol = *port.AppProtocol
	}
	return fmt.Sprintf("%s/%d/%s/%s", port.Name, port.Port, port.Protocol, protocol)
}

// sortAddresses sorts the addresses, and returns a text that is equal if they are.
func sortAddresses(addresses []corev1.EndpointAddress) string {
	slices.SortFunc(addresses, func(a, b corev1.EndpointAddress) int {
		return cmp.Compare(addressKey(a), addressKey(b))
	})
	var all strings.Builder
	for _, address := range addresses {
		all.WriteString(addressKey(address))
	}
	return all.String()
}

// addressKey has the UID, too: Pods in the network of their node share its address.
func addressKey(address corev1.EndpointAddress) string {
	if address.TargetRef == nil {
		return address.IP + ","
	}
	return address.IP + "/" + string(address.TargetRef.UID) + ","
}
