package endpoints

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// wanted is what the slices of a Service should say, as far as the controller owns it.
type wanted struct {
	service      *corev1.Service
	addressTypes []discoveryv1.AddressType
	groups       []group
	labels       map[string]string
}

func wantedOf(service *corev1.Service, pods []*corev1.Pod, nodes nodes) wanted {
	return wanted{
		service, addressTypesOf(service), groupsOf(service, pods, nodes), sliceLabelsOf(service),
	}
}

// sliceLabelsOf returns the Service's labels, and those by which clients find slices, which
// override labels of the same names.
func sliceLabelsOf(service *corev1.Service) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, service.Labels)
	if delete(labels, corev1.IsHeadlessService); !hasClusterIP(service) {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] =
		service.Name, sliceManager
	return labels
}

// owns reports whether a slice belongs to this Service, and not to an earlier one of the same name.
func (w wanted) owns(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == w.service.UID && owner.Kind == "Service" && owner.APIVersion == "v1"
	})
}

// isMarked reports whether a slice has the right labels.
func (w wanted) isMarked(slice *discoveryv1.EndpointSlice) bool {
	return maps.Equal(slice.Labels, w.labels)
}

// isIn reports whether a slice has the content of a draft already. A draft keeps the order of the
// slice's endpoints.
func (w wanted) isIn(slice *discoveryv1.EndpointSlice, d *draft) bool {
	return w.isMarked(slice) && samePorts(portsIn(slice), d.ports) &&
		slices.EqualFunc(slice.Endpoints, d.endpoints, func(a, b discoveryv1.Endpoint) bool {
			return sameEndpoint(&a, &b)
		})
}

// object returns the slice to write for a draft. A new one has no name yet.
func (w wanted) object(d *draft) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		AddressType: d.addresses, Endpoints: d.endpoints, Ports: slicePorts(d.ports),
	}
	if d.was != nil {
		d.was.ObjectMeta.DeepCopyInto(&slice.ObjectMeta)
	} else {
		slice.Namespace, slice.GenerateName = w.service.Namespace, w.service.Name+"-"
		slice.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(w.service, corev1.SchemeGroupVersion.WithKind("Service")),
		}
	}
	if slice.Labels = maps.Clone(w.labels); slice.Endpoints == nil {
		slice.Endpoints = []discoveryv1.Endpoint{} // clients that read JSON expect a list, not null
	}
	return slice
}

// stamp sets the annotation with the time of the change that led to a write, as Endpoints have it,
// or removes it if that has no time.
func stamp(slice *discoveryv1.EndpointSlice, trigger time.Time) {
	delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if trigger.IsZero() {
		return
	}
	if slice.Annotations == nil {
		slice.Annotations = map[string]string{}
	}
	slice.Annotations[corev1.EndpointsLastChangeTriggerTime] =
		trigger.UTC().Format(time.RFC3339Nano)
}

// slicePorts and portsIn convert ports: in a slice, each field of a port is optional.
func slicePorts(ports []corev1.EndpointPort) []discoveryv1.EndpointPort {
	all := make([]discoveryv1.EndpointPort, len(ports))
	for i, port := range ports {
		all[i] = discoveryv1.EndpointPort{
			Name: new(port.Name), Port: new(port.Port), Protocol: new(port.Protocol),
			AppProtocol: port.AppProtocol,
		}
	}
	return all
}

// portsIn returns a slice's ports, sorted. A missing field gets the API server's default, or a
// value that no port of a Service has.
func portsIn(slice *discoveryv1.EndpointSlice) []corev1.EndpointPort {
	ports := make([]corev1.EndpointPort, len(slice.Ports))
	for i, port := range slice.Ports {
		ports[i] = corev1.EndpointPort{
			Name: valueOr(port.Name, ""), Port: valueOr(port.Port, -1),
			Protocol: valueOr(port.Protocol, corev1.ProtocolTCP), AppProtocol: port.AppProtocol,
		}
	}
	slices.SortFunc(ports, comparePorts)
	return ports
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// A Service may have any number of slices, so they need names of their own. Kubernetes lets the API
// server generate them. Then a client can't safely repeat a create whose answer was lost: if it
// happened, the repetition creates a second slice under another name. A cache that doesn't show
// the first slice yet has the same effect.
//
// So this controller computes the names. They look like generated ones, but follow from the
// Service's UID and a number. A repeated create has the same name, and fails as a conflict. So
// neither a crash nor a late cache can lead to a second slice with the same endpoints.

// nameOf returns the nth name for a slice of a Service.
func nameOf(service *corev1.Service, n int) string {
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s/%d", service.UID, n) // a hash never returns an error
	return service.Name + "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// namer chooses names for new slices.
type namer struct {
	service *corev1.Service
	taken   map[string]bool // by slices in the cache, or returned by next
	n       int
}

// next returns the first name that isn't taken.
func (n *namer) next() string {
	for {
		name := nameOf(n.service, n.n)
		if n.n++; !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}

func newNamer(service *corev1.Service, have []*discoveryv1.EndpointSlice) *namer {
	taken := make(map[string]bool, len(have))
	for _, slice := range have {
		taken[slice.Name] = true
	}
	return &namer{service: service, taken: taken}
}
