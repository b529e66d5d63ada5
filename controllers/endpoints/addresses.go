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

// isListed reports whether a Pod appears in the Endpoints of a Service that selects it, ready or not. A Pod that has
// finished is gone for good. One that is being deleted may still run, but it should get no new connections, unless the
// Service asks for whatever has an address.
func isListed(service *corev1.Service, pod *corev1.Pod) bool {
	return podstate.IsActive(pod) || service.Spec.PublishNotReadyAddresses && podstate.IsTerminating(pod)
}

// isReady reports whether a Pod counts as ready for a Service.
func isReady(service *corev1.Service, pod *corev1.Pod) bool {
	_, ready := podstate.Ready(pod)
	return ready || service.Spec.PublishNotReadyAddresses
}

// addressOf is the address of a Pod in a Service's IP family. ok is false if the Pod has none, or not yet.
func addressOf(service *corev1.Service, pod *corev1.Pod) (address corev1.EndpointAddress, ok bool) {
	ip := ipIn(familyOf(service, pod), pod)
	if ip == "" {
		return address, false
	}
	address = corev1.EndpointAddress{
		IP:        ip,
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.Spec.NodeName != "" {
		address.NodeName = new(pod.Spec.NodeName)
	}
	if pod.Spec.Subdomain == service.Name && pod.Namespace == service.Namespace {
		address.Hostname = pod.Spec.Hostname
	}
	return address, true
}

// familyOf is the first of a Service's IP families: Endpoints have room for one. A Service that the API server has not
// completed has the family of its own address, or else that of the Pod.
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

// ipIn is a Pod's first address in an IP family, in the usual form: what a Pod's status says may have zeros in front.
func ipIn(family corev1.IPFamily, pod *corev1.Pod) string {
	for _, podIP := range pod.Status.PodIPs {
		if ip := netutils.ParseIPSloppy(podIP.IP); isReachable(ip) && familyOfIP(ip) == family {
			return ip.String()
		}
	}
	return ""
}

// isReachable is false for what the API server refuses to have in Endpoints. If one Pod has such an address, the others
// should get their traffic all the same.
func isReachable(ip net.IP) bool {
	return ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast()
}

// compareIdentities orders addresses by IP, as text, and then by the UID of what serves there. Pods of the host's
// network share its IP, and are different addresses all the same.
func compareIdentities(a, b *corev1.EndpointAddress) int {
	return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(uidOf(a), uidOf(b)))
}

// compareAddresses orders addresses by identity, and then by all that is compared in the end, so that it does not
// matter which of two addresses of one identity came first.
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

// compareTargets leaves the resourceVersion out: Kubernetes wrote it once, and a Pod that changes in other ways is no
// reason for a write.
func compareTargets(a, b *corev1.ObjectReference) int {
	if a == nil || b == nil {
		return compareNil(a, b)
	}
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.FieldPath, b.FieldPath),
	)
}

// portsOf are the ports on which a Pod serves a Service. A port whose name the Pod does not know is left out: during a
// rollout, the new Pods may have a port that the old ones lack.
func portsOf(service *corev1.Service, pod *corev1.Pod) []corev1.EndpointPort {
	ports := make([]corev1.EndpointPort, 0, len(service.Spec.Ports))
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if number, ok := resolve(port, pod); ok {
			ports = append(ports, corev1.EndpointPort{Name: port.Name, Port: number, Protocol: port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	return ports
}

// resolve finds the number of a Service's target port in a Pod. A number is meant as it is, even if no container says
// that it listens there. A name may have another number in each Pod.
func resolve(port *corev1.ServicePort, pod *corev1.Pod) (number int32, ok bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	for container := range serving(pod) {
		for i := range container.Ports {
			if named := &container.Ports[i]; named.Name == port.TargetPort.StrVal && named.Protocol == port.Protocol {
				return named.ContainerPort, true
			}
		}
	}
	return 0, false
}

// serving are the containers of a Pod that run as long as it does: all but those init containers that end.
func serving(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			policy := pod.Spec.InitContainers[i].RestartPolicy
			if isSidecar := policy != nil && *policy == corev1.ContainerRestartPolicyAlways; isSidecar && !yield(&pod.Spec.InitContainers[i]) {
				return
			}
		}
	}
}

// comparePorts orders ports by name, and then by all else, so that only equal ports are equal.
func comparePorts(a, b corev1.EndpointPort) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Port, b.Port),
		cmp.Compare(a.Protocol, b.Protocol),
		comparePointers(a.AppProtocol, b.AppProtocol),
	)
}

// comparePointers orders what is pointed to; nothing comes first.
func comparePointers[T cmp.Ordered](a, b *T) int {
	if a == nil || b == nil {
		return compareNil(a, b)
	}
	return cmp.Compare(*a, *b)
}

// compareNil orders two pointers of which one at least is nil; nil comes first.
func compareNil[T any](a, b *T) int {
	switch {
	case a != nil:
		return 1
	case b != nil:
		return -1
	}
	return 0
}
