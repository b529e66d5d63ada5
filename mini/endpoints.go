package mini

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
)

// The label that says who writes the Endpoints, and our value, the one that Kubernetes
// uses.
//
//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.
const (
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	controllerName = "endpoint-controller"
)

// Endpoints is a Reconciler that writes down where you can reach the Pods of a Service.
//
// Guarantees: it writes only if the content changes. If the Service has no selector or is
// of type ExternalName, it leaves the Endpoints to the user who writes them.
type Endpoints struct {
	Client *CachedClient
}

// NewEndpointsController returns the controller with its watches. Add it to m. A request
// names a Service, and so its Endpoints, which have the same name.
func NewEndpointsController(m *Manager) (*Controller, error) {
	services := m.Informer(&corev1.Service{})
	pods := m.Informer(&corev1.Pod{})
	endpoints := m.Informer(&corev1.Endpoints{})
	c := m.NewController("endpoints", 1, &Endpoints{Client: m.Client})
	c.Watch(services, EnqueueObject)
	// By the old labels and by the new ones, because a Pod can leave one Service and join
	// another in a single change.
	c.Watch(pods, EnqueueMapped(func(pod Object) []Request {
		return servicesOf(services, pod)
	}))
	c.Watch(endpoints, EnqueueObject)
	return c, m.err
}

// servicesOf returns the Services that select the Pod.
func servicesOf(services *SharedInformer, pod Object) (matching []Request) {
	inNamespace, _ := services.ByIndex(ByNamespace, pod.GetNamespace())
	for _, obj := range inNamespace {
		selector := labels.SelectorFromSet(obj.(*corev1.Service).Spec.Selector)
		if !selector.Empty() && selector.Matches(labels.Set(pod.GetLabels())) {
			matching = append(matching, KeyOf(obj))
		}
	}
	return matching
}

// Reconcile makes the Endpoints of a Service match its Pods.
func (e *Endpoints) Reconcile(ctx context.Context, req Request) (Result, error) {
	current, err := Get[*corev1.Endpoints](ctx, e.Client, req)
	if apierrors.IsNotFound(err) {
		current = nil
	} else if err != nil {
		return Result{}, err
	}
	service, err := Get[*corev1.Service](ctx, e.Client, req)
	if apierrors.IsNotFound(err) {
		if current == nil || current.Labels[labelManagedBy] != controllerName {
			return Result{}, nil // a user's, and the Service may be yet to come
		}
		return Result{}, e.Client.Delete(ctx, current, metav1.DeleteOptions{})
	}
	if err != nil {
		return Result{}, err
	}
	isExternal := service.Spec.Type == corev1.ServiceTypeExternalName
	if isExternal || len(service.Spec.Selector) == 0 {
		return Result{}, nil // the user writes these Endpoints
	}
	pods, err := List[*corev1.Pod](ctx, e.Client, Selection{
		Namespace: req.Namespace, Labels: labels.SelectorFromSet(service.Spec.Selector),
	})
	if err != nil {
		return Result{}, err
	}
	if current == nil {
		created := endpointsFor(service, pods, &corev1.Endpoints{})
		return Result{}, e.Client.Create(ctx, created)
	}
	next := endpointsFor(service, pods, current)
	if equality.Semantic.DeepEqual(current, next) {
		return Result{}, nil
	}
	return Result{}, e.Client.Update(ctx, next)
}

// endpointsFor returns current as it should be. It keeps everything that isn't ours to
// write, such as a user's annotations.
func endpointsFor(
	service *corev1.Service, pods []*corev1.Pod, current *corev1.Endpoints,
) *corev1.Endpoints {
	next := current.DeepCopy()
	next.Namespace, next.Name = service.Namespace, service.Name
	next.Subsets = EndpointSubsets(service, pods)
	next.Labels = map[string]string{}
	maps.Copy(next.Labels, service.Labels)
	next.Labels[labelManagedBy] = controllerName
	return next
}

// EndpointSubsets returns where you can reach the Pods of the Service. Pods with the same
// ports share a subset. Everything is sorted, so the result doesn't depend on the order
// of the Pods.
func EndpointSubsets(
	service *corev1.Service, pods []*corev1.Pod,
) (subsets []corev1.EndpointSubset) {
	byPorts := map[string]corev1.EndpointSubset{}
	byName := func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }
	for _, pod := range slices.SortedFunc(slices.Values(pods), byName) {
		ports, key := portsOf(service, pod)
		// A headless Service may have no ports, because it's only a name for the
		// addresses.
		hasPorts := len(ports) > 0 || len(service.Spec.Ports) == 0
		if !hasPorts || !shouldPodBeInEndpoints(service, pod) {
			continue
		}
		subset, address := byPorts[key], podToEndpointAddress(service, pod)
		subset.Ports = ports
		_, ready := podReady(pod)
		if ready || service.Spec.PublishNotReadyAddresses {
			subset.Addresses = append(subset.Addresses, address)
		} else {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, address)
		}
		byPorts[key] = subset
	}
	for _, key := range slices.Sorted(maps.Keys(byPorts)) {
		subsets = append(subsets, byPorts[key])
	}
	return subsets
}

// shouldPodBeInEndpoints is false for a Pod that has no address of the Service's family,
// has ended, or is ending. But a Pod that's ending stays if the Service publishes
// addresses in any state.
func shouldPodBeInEndpoints(service *corev1.Service, pod *corev1.Pod) bool {
	return podIPFor(service, pod) != "" && !isPodTerminal(pod) &&
		(pod.DeletionTimestamp == nil || service.Spec.PublishNotReadyAddresses)
}

// podIPFor returns the Pod's address in the Service's IP family, or "" if it has none.
func podIPFor(service *corev1.Service, pod *corev1.Pod) string {
	wanted := isIPv6(service, pod)
	for _, address := range pod.Status.PodIPs {
		if netutils.IsIPv6String(address.IP) == wanted {
			return address.IP
		}
	}
	return ""
}

// isIPv6 is true if the Service's Endpoints list IPv6 addresses. Of two families the
// first one counts, because by convention Endpoints list only one. If the Service names
// no family, its own address decides, or the Pod's first one if the Service has no
// address either.
func isIPv6(service *corev1.Service, pod *corev1.Pod) bool {
	switch clusterIP := service.Spec.ClusterIP; {
	case len(service.Spec.IPFamilies) > 0:
		return service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case clusterIP == corev1.ClusterIPNone || clusterIP == "":
		return netutils.IsIPv6String(pod.Status.PodIP)
	default:
		return netutils.IsIPv6String(clusterIP)
	}
}

// podToEndpointAddress says where the Pod is, and which Pod it is.
func podToEndpointAddress(
	service *corev1.Service, pod *corev1.Pod,
) corev1.EndpointAddress {
	address := corev1.EndpointAddress{
		IP: podIPFor(service, pod), NodeName: new(pod.Spec.NodeName),
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
	}
	if pod.Spec.Subdomain == service.Name {
		address.Hostname = pod.Spec.Hostname // DNS knows the Pod as hostname.service
	}
	return address
}

// portsOf returns those of the Service's ports that the Pod has, and a key that's the
// same for Pods with the same ports. The names of a Service's ports are unique.
func portsOf(
	service *corev1.Service, pod *corev1.Pod,
) (ports []corev1.EndpointPort, key string) {
	for _, port := range service.Spec.Ports {
		if number, ok := FindPort(pod, &port); ok {
			ports = append(ports, corev1.EndpointPort{
				Name: port.Name, Port: number,
				Protocol: port.Protocol, AppProtocol: port.AppProtocol,
			})
			key += fmt.Sprintf("%s:%d ", port.Name, number)
		}
	}
	return ports, key
}

// FindPort returns the number of the Service's port in this Pod. A named port may have a
// different number in each Pod, and some Pods may not have it.
func FindPort(pod *corev1.Pod, port *corev1.ServicePort) (number int32, found bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}
