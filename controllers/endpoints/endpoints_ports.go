package endpoints

import (
	"cmp"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
