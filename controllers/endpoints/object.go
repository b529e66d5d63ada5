package endpoints

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// managedBy is the label of Endpoints that a controller writes, and controllerName its value. Both
// are Kubernetes' own: the API server and other controllers tell by them which Endpoints a user
// wrote by hand.
const managedBy = "endpoints.kubernetes.io/managed-by"

// truncated is the value of the annotation endpoints.kubernetes.io/over-capacity.
const truncated = "truncated"

// content is the part of Endpoints that the controller owns.
type content struct {
	subsets      []corev1.EndpointSubset
	labels       map[string]string
	overCapacity bool
}

// contentOf returns the content that a Service's Endpoints should have.
func contentOf(service *corev1.Service, pods []*corev1.Pod) content {
	subsets, over := truncate(pack(membersOf(service, pods)), maxAddresses)
	return content{subsets, labelsOf(service), over}
}

// membersOf returns the Pods that belong into a Service's Endpoints, as members.
func membersOf(service *corev1.Service, pods []*corev1.Pod) []member {
	members := make([]member, 0, len(pods))
	for _, pod := range pods {
		if !isListed(service, pod) {
			continue
		}
		address, ok := addressOf(service, pod)
		if !ok {
			continue
		}
		ports := portsOf(service, pod)
		if len(ports) > 0 ||
			len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone {
			members = append(members, member{address, isReady(service, pod), ports})
		}
	}
	return members
}

// labelsOf returns the Service's labels with managedBy and, for a headless Service,
// IsHeadlessService.
func labelsOf(service *corev1.Service) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, service.Labels)
	if delete(labels, corev1.IsHeadlessService); !hasClusterIP(service) {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[managedBy] = controllerName
	return labels
}

// isIn reports whether Endpoints have this content. Another implementation may have grouped the
// same addresses into other subsets; that counts as the same content.
func (c content) isIn(current *corev1.Endpoints) bool {
	_, over := current.Annotations[corev1.EndpointsOverCapacity]
	return over == c.overCapacity && maps.Equal(current.Labels, c.labels) &&
		(sameSubsets(current.Subsets, c.subsets) ||
			sameSubsets(pack(unpack(current.Subsets)), pack(unpack(c.subsets))))
}

// writeTo sets this content. Without a trigger, it removes the annotation: the time of an earlier
// change would make this one look slow.
func (c content) writeTo(endpoints *corev1.Endpoints, trigger time.Time) {
	endpoints.Subsets, endpoints.Labels = c.subsets, c.labels
	if endpoints.Annotations == nil {
		endpoints.Annotations = map[string]string{}
	}
	delete(endpoints.Annotations, corev1.EndpointsOverCapacity)
	delete(endpoints.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if c.overCapacity {
		endpoints.Annotations[corev1.EndpointsOverCapacity] = truncated
	}
	if !trigger.IsZero() {
		endpoints.Annotations[corev1.EndpointsLastChangeTriggerTime] =
			trigger.UTC().Format(time.RFC3339Nano)
	}
}

func sameSubsets(a, b []corev1.EndpointSubset) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.EndpointSubset) bool {
		return slices.EqualFunc(a.Addresses, b.Addresses, sameAddress) &&
			slices.EqualFunc(a.NotReadyAddresses, b.NotReadyAddresses, sameAddress) &&
			slices.EqualFunc(a.Ports, b.Ports, func(a, b corev1.EndpointPort) bool {
				return comparePorts(a, b) == 0
			})
	})
}

func sameAddress(a, b corev1.EndpointAddress) bool { return compareAddresses(&a, &b) == 0 }

// Kubernetes measures how long a change takes to reach the nodes. For that, Endpoints have an
// annotation with the time of the oldest change that led to this write: a Pod became ready, or the
// Service was created. The objects don't say which of their times is new, so the controller
// remembers those of the last reconcile.

// times are those that a reconcile has read. nil stands for a Service that was never reconciled.
type times struct {
	service time.Time
	pods    map[string]time.Time // by name: when readiness last changed
}

// timesOf collects the times of a Service and the Pods that it selects.
func timesOf(service *corev1.Service, pods []*corev1.Pod) *times {
	t := &times{
		service: service.CreationTimestamp.Time, pods: make(map[string]time.Time, len(pods)),
	}
	for _, pod := range pods {
		if since, _ := podstate.Ready(pod); !since.IsZero() {
			t.pods[pod.Name] = since
		}
	}
	return t
}

// trigger returns the oldest of the times that are newer than at the last reconcile, or zero if
// there's none. After a start the controller has no last reconcile; then it's the creation of the
// Service.
func (t *times) trigger(before *times) (oldest time.Time) {
	if before == nil {
		return t.service
	}
	consider := func(moment, was time.Time) {
		if moment.After(was) && (oldest.IsZero() || moment.Before(oldest)) {
			oldest = moment
		}
	}
	consider(t.service, before.service)
	for name, moment := range t.pods {
		consider(moment, before.pods[name])
	}
	return oldest
}
