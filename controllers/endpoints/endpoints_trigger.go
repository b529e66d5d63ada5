package endpoints

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

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
