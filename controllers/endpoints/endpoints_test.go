package endpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager/client"
)

var one = map[string]int{"update endpoints": 1}

func TestAServiceGetsItsEndpoints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		one, two := w.pod(1), w.pod(2, notReady)
		w.pod(3, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
		w.start()
		endpoints := w.endpoints()
		address := func(ip string, pod *corev1.Pod) []corev1.EndpointAddress {
			return []corev1.EndpointAddress{
				{
					IP: ip, NodeName: new("n1"),
					TargetRef: &corev1.ObjectReference{
						Kind: "Pod", Namespace: "default", Name: pod.Name, UID: pod.UID,
					},
				},
			}
		}
		require.Equal(t, []corev1.EndpointSubset{{
			Addresses: address("10.0.0.1", one), NotReadyAddresses: address("10.0.0.2", two),
			Ports: []corev1.EndpointPort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}},
		}}, endpoints.Subsets)
		require.Equal(t, map[string]string{"team": "shop",
			"endpoints.kubernetes.io/managed-by": "endpoint-controller"}, endpoints.Labels)
		require.Equal(t, map[string]int{"create endpoints": 1}, w.did())
	})
}

func TestEndpointsFollowTheirPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		w.start()
		require.Equal(t, map[string]int{"create endpoints": 1}, w.did())
		w.says("no Pod", nil...)
		pod := w.pod(1, notReady)
		w.says("a Pod has started", "(10.0.0.1)  http=8080/TCP")
		editStatus(w, pod, func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		})
		w.says("it is ready", "10.0.0.1  http=8080/TCP")
		require.Equal(t, map[string]int{"update endpoints": 2}, w.did())
		edit(w, pod, func(p *corev1.Pod) { p.Annotations = map[string]string{"note": "yes"} })
		edit(w, pod, func(p *corev1.Pod) { p.Labels["version"] = "2" })
		w.settle()
		require.Empty(t, w.did(), "changes that do not concern the Service")
		edit(w, pod, func(p *corev1.Pod) { p.Labels["app"] = "debug" })
		w.says("it has another label", nil...)
		require.Equal(t, one, w.did())
		edit(w, pod, func(p *corev1.Pod) { p.Labels["app"] = "web" })
		w.says("it is back", "10.0.0.1  http=8080/TCP")
		w.delete(pod)
		w.says("it is being deleted", nil...)
		w.did()
		w.delete(pod, client.GracePeriodSeconds(0))
		w.says("it is gone", nil...)
		require.Empty(t, w.did())

		pod = w.pod(2, notReady)
		w.says("another one", "(10.0.0.2)  http=8080/TCP")
		editStatus(w, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		w.says("it has failed, and was never ready", nil...)
		pod = w.pod(3)
		w.says("another one", "10.0.0.3  http=8080/TCP")
		editStatus(w, pod, withIPs("10.0.0.30"))
		w.says("it has another address", "10.0.0.30  http=8080/TCP")
		w.delete(pod, client.GracePeriodSeconds(0))
		w.says("it is gone at once", nil...)
	})
}

// A Service with publishNotReadyAddresses lists terminating Pods as long as they run.
func TestAPodThatIsBeingDeletedStaysInAServiceThatPublishesAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service(publishes)
		pod := w.pod(1)
		w.start()
		w.delete(pod)
		w.says("it is being deleted", "10.0.0.1  http=8080/TCP")
		editStatus(w, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		w.says("it has ended", nil...)
		pod = w.pod(2)
		w.delete(pod)
		w.says("another one is being deleted", "10.0.0.2  http=8080/TCP")
		w.delete(pod, client.GracePeriodSeconds(0))
		w.says("it is gone", nil...)
	})
}

func TestEndpointsFollowTheirService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		w.pod(1)
		w.pod(2, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
		w.start()
		w.did()
		edit(w, service, func(s *corev1.Service) {
			s.Spec.Selector = map[string]string{"app": "db"}
		})
		w.says("another selector", "10.0.0.2  http=8080/TCP")
		edit(w, service, func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(9000)
		})
		w.says("another port", "10.0.0.2  http=9000/TCP")
		edit(w, service, func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports,
				corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
		})
		w.says("one more port", "10.0.0.2  dns=53/UDP http=9000/TCP")
		edit(w, service, func(s *corev1.Service) { s.Labels = map[string]string{"team": "search"} })
		w.settle()
		require.Equal(t, "search", w.endpoints().Labels["team"])
		require.Equal(t, map[string]int{"update endpoints": 4}, w.did())
		edit(w, service, func(s *corev1.Service) {
			s.Annotations = map[string]string{"note": "yes"}
		})
		editStatus(w, service, func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.7"}}
		})
		w.settle()
		require.Empty(t, w.did())
		w.delete(service)
		w.settle()
		require.Nil(t, w.endpoints())
		require.Equal(t, map[string]int{"delete endpoints": 1}, w.did())
		w.service()
		w.says("a new Service of that name", "10.0.0.1  http=8080/TCP")
	})
}

// withoutSelector has the changes after which the controller does not serve a Service, and those
// that undo them.
var withoutSelector = []struct {
	name        string
	change, and func(*corev1.Service)
}{
	{"no selector", func(s *corev1.Service) {
		s.Spec.Selector = nil
	}, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} }},
	{"an external name", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
		s.Spec.ClusterIP, s.Spec.IPFamilies = "", nil
	}, func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeClusterIP, ""
		s.Spec.ClusterIP, s.Spec.IPFamilies = "10.96.0.7", []corev1.IPFamily{corev1.IPv4Protocol}
	}},
}

// A user takes over the list of addresses, and gives it back.
func TestEndpointsStayWhenTheSelectorIsRemoved(t *testing.T) {
	for _, c := range withoutSelector {
		inWorld(t, func(t *testing.T, w *world) {
			service := w.service()
			w.pod(1)
			w.start()
			w.did()
			edit(w, service, c.change)
			w.settle() // otherwise the cache may show the Pod before the change
			w.pod(2)
			w.says(c.name+": they stay", "10.0.0.1  http=8080/TCP")
			edit(w, byHand(), func(e *corev1.Endpoints) { e.Subsets = byHand().Subsets })
			w.says(c.name+": they are the user's", "192.0.2.1  http=8080/TCP")
			w.end()
			w.start()
			require.Empty(t, w.did())
			edit(w, service, c.and)
			w.says(c.name+": they are the controller's again", "10.0.0.1 10.0.0.2  http=8080/TCP")
			require.Equal(t, one, w.did())
			edit(w, service, c.change)
			w.settle()
			w.delete(service)
			w.settle()
			require.Nil(t, w.endpoints(), "they go with their Service")
		})
	}
}

func TestServicesWithoutASelectorAreLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.create(byHand()) // before its Service, as kubectl apply may create them
		w.settle()
		edit(w, byHand(), func(e *corev1.Endpoints) { e.Labels = map[string]string{"mine": "yes"} })
		w.settle()
		require.NotNil(t, w.endpoints())
		service := w.service(func(s *corev1.Service) { s.Spec.Selector = nil })
		w.pod(1)
		w.says("what the user says", "192.0.2.1  http=8080/TCP")
		require.Equal(t, map[string]string{"mine": "yes"}, w.endpoints().Labels)
		require.Empty(t, w.did())
		w.delete(service)
		w.settle()
		require.Nil(t, w.endpoints(), "they go with their Service")
	})
}

func TestAHeadlessServiceSaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service(headless, withoutPorts)
		w.pod(1, func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-0", "web" })
		w.start()
		w.says("an address without ports", "10.0.0.1 ")
		endpoints := w.endpoints()
		require.Contains(t, endpoints.Labels, "service.kubernetes.io/headless")
		require.Equal(t, "web-0", endpoints.Subsets[0].Addresses[0].Hostname)
		w.delete(service) // its address can't change
		w.service()
		w.says("another one has its name, with an address and ports", "10.0.0.1  http=8080/TCP")
		require.NotContains(t, w.endpoints().Labels, "service.kubernetes.io/headless")
	})
}

// The controller undoes every change of the Endpoints by another client.
func TestEndpointsAreRestored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		w.pod(1)
		w.start()
		w.did()
		w.delete(w.endpoints())
		w.says("they were deleted", "10.0.0.1  http=8080/TCP")
		require.Equal(t, map[string]int{"create endpoints": 1}, w.did())
		edit(w, byHand(), func(e *corev1.Endpoints) { e.Subsets = byHand().Subsets })
		w.says("somebody wrote other addresses", "10.0.0.1  http=8080/TCP")
		require.Equal(t, one, w.did())
		edit(w, byHand(), func(e *corev1.Endpoints) { e.Labels = nil })
		w.settle()
		require.Len(t, w.endpoints().Labels, 2)
		w.did()
		edit(w, byHand(), func(e *corev1.Endpoints) {
			e.Annotations = map[string]string{"mine": "yes"}
		})
		w.says("annotations are nobody's", "10.0.0.1  http=8080/TCP")
		w.pod(2)
		w.says("and one more", "10.0.0.1 10.0.0.2  http=8080/TCP")
		require.Contains(t, w.endpoints().Annotations, "mine")
		require.Equal(t, one, w.did())
	})
}

// Services that were deleted while no controller was running would keep their Endpoints forever.
func TestEndpointsWithoutAServiceAreDeletedAtTheStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lock := byHand(func(e *corev1.Endpoints) {
			e.Name, e.Annotations = "lock", map[string]string{
				"control-plane.alpha.kubernetes.io/leader": "{}",
			}
		})
		w.create(byHand())
		w.create(lock)
		w.start()
		require.Nil(t, w.endpoints())
		require.NoError(t, w.users.Get(t.Context(), client.ObjectKeyFromObject(lock), lock),
			"it is a lock, and somebody holds it")
		require.Equal(t, map[string]int{"delete endpoints": 1}, w.did())
	})
}

func TestEndpointsSayWhatTriggeredThem(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		created := service.CreationTimestamp.UTC().Format(time.RFC3339Nano)
		trigger := func() string {
			w.settle()
			return w.endpoints().Annotations["endpoints.kubernetes.io/last-change-trigger-time"]
		}
		w.start()
		require.Equal(t, created, trigger(), "the first write: the creation of the Service")
		since := metav1.NewTime(time.Now().Add(-time.Second).Truncate(time.Second))
		pod := w.pod(1, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = since })
		require.Equal(t, since.UTC().Format(time.RFC3339Nano), trigger(), "a Pod has become ready")
		edit(w, service, func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(1)
		})
		require.Empty(t, trigger(), "nobody knows when the Service was changed")
		later := metav1.NewTime(time.Now().Truncate(time.Second))
		lift := w.server.Inject(failing("update"))
		editStatus(w, pod, func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
			p.Status.Conditions[0].LastTransitionTime = later
		})
		w.settle()
		lift()
		time.Sleep(time.Hour)
		require.Equal(t, later.UTC().Format(time.RFC3339Nano), trigger(),
			"it is not lost if the first try fails")
		w.end()
		w.start()
		again := metav1.NewTime(time.Now().Truncate(time.Second))
		editStatus(w, pod, func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
			p.Status.Conditions[0].LastTransitionTime = again
		})
		require.Equal(t, again.UTC().Format(time.RFC3339Nano), trigger(),
			"a look that finds nothing to do remembers what it has seen")
	})
}

// A user has to see what keeps the controller from working before its process becomes the leader.
func TestAddSaysWhatKeepsTheControllerFromWorking(t *testing.T) {
	ours.RefusesMisuse(t, Add, "the Endpoints controller",
		"finding the Services that select a Pod")
}
