package endpoints

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// managedBy is a label that says who wrote Endpoints, and controllerName its value. Both are Kubernetes' own: the API
// server looks for them, and so does whoever asks which Endpoints were made by hand.
const managedBy = "endpoints.kubernetes.io/managed-by"

// truncated is the value of the annotation endpoints.kubernetes.io/over-capacity.
const truncated = "truncated"

// content is what the controller decides about Endpoints. The rest belongs to others.
type content struct {
	subsets      []corev1.EndpointSubset
	labels       map[string]string
	overCapacity bool
}

// contentOf is what a Service's Endpoints should have.
func contentOf(service *corev1.Service, pods []*corev1.Pod) content {
	subsets, over := truncate(pack(membersOf(service, pods)), maxAddresses)
	return content{subsets, labelsOf(service), over}
}

// membersOf are the Pods as members of a Service's Endpoints.
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
		if len(ports) > 0 || len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone {
			members = append(members, member{address, isReady(service, pod), ports})
		}
	}
	return members
}

// labelsOf are the Service's labels, and two more.
func labelsOf(service *corev1.Service) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, service.Labels)
	if delete(labels, corev1.IsHeadlessService); !hasClusterIP(service) {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[managedBy] = controllerName
	return labels
}

// isIn reports whether Endpoints have this content. They may say the same in another form: then another
// implementation has written them, and they are good as they are.
func (c content) isIn(current *corev1.Endpoints) bool {
	_, over := current.Annotations[corev1.EndpointsOverCapacity]
	return over == c.overCapacity && maps.Equal(current.Labels, c.labels) &&
		(sameSubsets(current.Subsets, c.subsets) || sameSubsets(pack(unpack(current.Subsets)), pack(unpack(c.subsets))))
}

// writeTo gives Endpoints this content. An update without a trigger has no annotation about one: a moment that belongs
// to an earlier change would make this one look slow.
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
		endpoints.Annotations[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	}
}

func sameSubsets(a, b []corev1.EndpointSubset) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.EndpointSubset) bool {
		return slices.EqualFunc(a.Addresses, b.Addresses, sameAddress) &&
			slices.EqualFunc(a.NotReadyAddresses, b.NotReadyAddresses, sameAddress) &&
			slices.EqualFunc(a.Ports, b.Ports, func(a, b corev1.EndpointPort) bool { return comparePorts(a, b) == 0 })
	})
}

func sameAddress(a, b corev1.EndpointAddress) bool { return compareAddresses(&a, &b) == 0 }

// Those who measure how long it takes until a change reaches the nodes need to know when it began. So Endpoints have an
// annotation with the moment of the oldest change that led to them: the Pod became ready, or the Service was created.
// It cannot be found in the objects alone, because they do not say which of their times is new. It takes a memory of
// the times that were there before.

// times are the moments that a look has seen. nil stands for a Service that was never looked at.
type times struct {
	service time.Time
	pods    map[string]time.Time // by name: when readiness last changed
}

// timesOf collects the moments of a Service and the Pods that it selects.
func timesOf(service *corev1.Service, pods []*corev1.Pod) *times {
	t := &times{service: service.CreationTimestamp.Time, pods: make(map[string]time.Time, len(pods))}
	for _, pod := range pods {
		if since, _ := podstate.Ready(pod); !since.IsZero() {
			t.pods[pod.Name] = since
		}
	}
	return t
}

// trigger is the oldest moment that is newer than it was in the look before, or zero if there is none. After a start,
// nobody knows what is new; then it is the creation of the Service.
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
