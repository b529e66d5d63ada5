package endpoints

import (
	"cmp"
	"iter"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// isListed reports whether a Pod appears in the Endpoints of a Service that selects it, ready or
// not. A Pod that has finished never runs again. A terminating one may still run, but should get no
// new connections, unless the Service has publishNotReadyAddresses.
func isListed(service *corev1.Service, pod *corev1.Pod) bool {
	return podstate.IsActive(pod) ||
		service.Spec.PublishNotReadyAddresses && podstate.IsTerminating(pod)
}

// isReady reports whether a Pod counts as ready for a Service.
func isReady(service *corev1.Service, pod *corev1.Pod) bool {
	_, ready := podstate.Ready(pod)
	return ready || service.Spec.PublishNotReadyAddresses
}

// addressOf returns the address of a Pod in a Service's IP family. ok is false if the Pod has none
// yet.
func addressOf(service *corev1.Service, pod *corev1.Pod) (address corev1.EndpointAddress, ok bool) {
	ip := ipIn(familyOf(service, pod), pod)
	if ip == "" {
		return address, false
	}
	address = corev1.EndpointAddress{
		IP: ip,
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
	}
	if pod.Spec.NodeName != "" {
		address.NodeName = new(pod.Spec.NodeName)
	}
	if pod.Spec.Subdomain == service.Name && pod.Namespace == service.Namespace {
		address.Hostname = pod.Spec.Hostname
	}
	return address, true
}

// familyOf returns the first of a Service's IP families, because Endpoints have room for one. If
// the API server hasn't set any, it's the family of the Service's own address, or else of the
// Pod's.
func familyOf(service *corev1.Service, pod *corev1.Pod) corev1.IPFamily {
	switch {
	case len(service.Spec.IPFamilies) > 0:
		return service.Spec.IPFamilies[0]
	case hasClusterIP(service):
		return familyOfIP(netutils.ParseIPSloppy(service.Spec.ClusterIP))
	default:
		return familyOfIP(netutils.ParseIPSloppy(pod.Status.PodIP))
	}
}

// hasClusterIP is false for a headless Service.
func hasClusterIP(service *corev1.Service) bool {
	return service.Spec.ClusterIP != corev1.ClusterIPNone && service.Spec.ClusterIP != ""
}

func familyOfIP(ip net.IP) corev1.IPFamily {
	if netutils.IsIPv6(ip) {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// ipIn returns a Pod's first address in an IP family, in canonical form: in a Pod's status its
// numbers may have leading zeros.
func ipIn(family corev1.IPFamily, pod *corev1.Pod) string {
	for _, podIP := range pod.Status.PodIPs {
		if ip := netutils.ParseIPSloppy(podIP.IP); isReachable(ip) && familyOfIP(ip) == family {
			return ip.String()
		}
	}
	return ""
}

// isReachable is false for an address that the API server refuses in Endpoints. One Pod with such
// an address must not make it refuse those of the others.
func isReachable(ip net.IP) bool {
	return ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() &&
		!ip.IsLinkLocalMulticast()
}

// compareIdentities orders addresses by IP, as text, and then by the Pod's UID. Pods in the host's
// network share its IP, but are different addresses.
func compareIdentities(a, b *corev1.EndpointAddress) int {
	return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(uidOf(a), uidOf(b)))
}

// compareAddresses orders addresses by identity, and then by all other fields that count, so that
// the result doesn't depend on the input's order.
func compareAddresses(a, b *corev1.EndpointAddress) int {
	return cmp.Or(
		compareIdentities(a, b),
		cmp.Compare(a.Hostname, b.Hostname),
		comparePointers(a.NodeName, b.NodeName),
		compareTargets(a.TargetRef, b.TargetRef),
	)
}

func uidOf(address *corev1.EndpointAddress) string {
	if address.TargetRef == nil {
		return ""
	}
	return string(address.TargetRef.UID)
}

// compareTargets ignores the resourceVersion: Kubernetes used to write it, and a change of it alone
// needs no write.
func compareTargets(a, b *corev1.ObjectReference) int {
	if a == nil || b == nil {
		return compareNil(a, b)
	}
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.FieldPath, b.FieldPath),
	)
}

// portsOf are the ports on which a Pod serves a Service. A port whose name the Pod doesn't know is
// left out: during a rollout, the new Pods may have a port that the old ones lack.
func portsOf(service *corev1.Service, pod *corev1.Pod) []corev1.EndpointPort {
	ports := make([]corev1.EndpointPort, 0, len(service.Spec.Ports))
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if number, ok := resolve(port, pod); ok {
			ports = append(ports, corev1.EndpointPort{
				Name: port.Name, Port: number,
				Protocol: port.Protocol, AppProtocol: port.AppProtocol,
			})
		}
	}
	return ports
}

// resolve finds the number of a Service's target port in a Pod. A number stands for itself, even if
// no container declares it. A name may stand for another number in each Pod.
func resolve(port *corev1.ServicePort, pod *corev1.Pod) (number int32, ok bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	for container := range serving(pod) {
		for i := range container.Ports {
			if named := &container.Ports[i]; named.Name == port.TargetPort.StrVal &&
				named.Protocol == port.Protocol {
				return named.ContainerPort, true
			}
		}
	}
	return 0, false
}

// serving returns the containers that run as long as the Pod does: all except init containers that
// aren't sidecars.
func serving(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			policy := pod.Spec.InitContainers[i].RestartPolicy
			isSidecar := policy != nil && *policy == corev1.ContainerRestartPolicyAlways
			if isSidecar && !yield(&pod.Spec.InitContainers[i]) {
				return
			}
		}
	}
}

// comparePorts orders ports by name, and then by all other fields. It is 0 only for equal ports.
func comparePorts(a, b corev1.EndpointPort) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Port, b.Port),
		cmp.Compare(a.Protocol, b.Protocol),
		comparePointers(a.AppProtocol, b.AppProtocol),
	)
}

// comparePointers compares the values; nil comes first.
func comparePointers[T cmp.Ordered](a, b *T) int {
	if a == nil || b == nil {
		return compareNil(a, b)
	}
	return cmp.Compare(*a, *b)
}

// compareNil compares two pointers of which at least one is nil; nil comes first.
func compareNil[T any](a, b *T) int {
	switch {
	case a != nil:
		return 1
	case b != nil:
		return -1
	}
	return 0
}
