package endpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager/client"
)

func TestAServiceGetsItsSlices(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service(func(s *corev1.Service) { // labels that the controller overrides
			s.Labels["endpointslice.kubernetes.io/managed-by"] = "nobody"
			s.Labels["service.kubernetes.io/headless"] = ""
		})
		pod := w.pod(1)
		w.pod(3, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
		w.start()
		all := w.all()
		require.Len(t, all, 1)
		slice := all[0]
		require.Equal(t, []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, NodeName: new("n1"), Zone: new("east"),
			Conditions: discoveryv1.EndpointConditions{
				Ready: new(true), Serving: new(true), Terminating: new(false),
			},
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: "default", Name: "pod-1", UID: pod.UID,
			},
		}}, slice.Endpoints)
		require.Equal(t, []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)),
			Protocol: new(corev1.ProtocolTCP)}}, slice.Ports)
		require.Equal(t, map[string]string{
			"team": "shop", "kubernetes.io/service-name": "web",
			"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
		}, slice.Labels)
		require.Equal(t, []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Service", Name: "web", UID: service.UID, Controller: new(true),
			BlockOwnerDeletion: new(true),
		}}, slice.OwnerReferences)
		require.Equal(t, "web-", slice.GenerateName)
		require.Regexp(t, "^web-[0-9a-z]+$", slice.Name)
		require.Equal(t,
			map[string]string{
				corev1.EndpointsLastChangeTriggerTime: service.CreationTimestamp.UTC().
					Format(time.RFC3339Nano),
			}, slice.Annotations)
		w.wrote("one slice", 1, 0, 0)
	})
}

func TestSlicesFollowTheirPods(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		w.start()
		w.says("no Pod", "[] on []")
		w.wrote("an empty slice", 1, 0, 0)
		first := w.pod(1, notReady)
		w.says("a Pod has started", "[(1)] on [8080]")
		editStatus(w.world, first, func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		})
		w.says("it is ready", "[1] on [8080]")
		w.wrote("two changes", 0, 2, 0)
		w.pod(2)
		w.says("one more", "[1 2] on [8080]")
		third := w.pod(3)
		w.says("and one more", "[1 2] on [8080]", "[3] on [8080]")
		w.wrote("what has changed", 1, 1, 0)
		edit(w.world, first, func(p *corev1.Pod) { p.Labels["version"] = "2" })
		w.settle()
		w.wrote("what does not concern the Service", 0, 0, 0)
		w.delete(third)
		w.says("it is being deleted, and still serves", "[(3)] on [8080]", "[1 2] on [8080]")
		w.delete(third, client.GracePeriodSeconds(0))
		w.says("it is gone", "[1 2] on [8080]")
		w.wrote("a change, and an end", 0, 1, 1)
		editStatus(w.world, first, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		w.says("a Pod has failed", "[2] on [8080]")
	})
}

func TestSlicesFollowTheirService(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service()
		w.pod(1, withIPs("10.0.0.1", "fd00::1"))
		w.pod(2, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
		w.start()
		w.did()
		edit(w.world, service, func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(9000)
		})
		w.says("another port", "[1] on [9000]")
		edit(w.world, service, func(s *corev1.Service) {
			s.Labels = map[string]string{"team": "search"}
		})
		w.settle()
		require.Equal(t, "search", w.all()[0].Labels["team"])
		w.wrote("each time the slice", 0, 2, 0)
		edit(w.world, service, func(s *corev1.Service) {
			s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		})
		w.says("both families", "IPv6 [1] on [9000]", "[1] on [9000]")
		edit(w.world, service, func(s *corev1.Service) {
			s.Spec.IPFamilies = s.Spec.IPFamilies[:1]
		})
		w.says("one again", "[1] on [9000]")
		w.wrote("a slice comes and goes", 1, 0, 1)
		edit(w.world, service, func(s *corev1.Service) {
			s.Spec.Selector = map[string]string{"app": "db"}
		})
		w.says("another selector", "[2] on [9000]")
		w.delete(service)
		w.says("the garbage collector deletes them, and it does not run here", "[2] on [9000]")
		w.service()
		w.says("a new Service of that name has slices of its own", "[1] on [8080]")
	})
}

// A user takes over the slices, and gives them back.
func TestSlicesStayWhenTheSelectorIsRemoved(t *testing.T) {
	for _, c := range withoutSelector {
		inSlicedWorld(t, func(t *testing.T, w sliced) {
			service := w.service()
			w.pod(1)
			w.start()
			edit(w.world, service, c.change)
			w.settle()
			w.did()
			w.pod(2)
			w.says(c.name+": they stay", "[1] on [8080]")
			w.wrote(c.name, 0, 0, 0)
			edit(w.world, service, c.and)
			w.says(c.name+": they are the controller's again", "[1 2] on [8080]")
			w.wrote(c.name, 0, 1, 0)
		})
	}
}

func TestServicesWithoutASelectorGetNoSlices(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service(func(s *corev1.Service) { s.Spec.Selector = nil })
		w.pod(1)
		w.start()
		w.says("nothing", nil...)
	})
}

// Several controllers may write slices for one Service; each recognises its own by the label.
func TestSlicesOfSomebodyElseAreLeftAlone(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.create(foreign("mesh"))
		w.service()
		w.pod(1)
		w.start()
		w.says("both are there", "[1] on [8080]", "[99] on []")
		w.did()
		edit(w.world, foreign("mesh"), func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil })
		w.says("somebody else's", "[1] on [8080]", "[] on []")
		w.wrote("nothing", 0, 0, 0)
		own := w.all()[0]
		edit(w.world, own, func(s *discoveryv1.EndpointSlice) {
			s.Labels["endpointslice.kubernetes.io/managed-by"] = "me"
		})
		w.says("it is somebody else's now", "[1] on [8080]", "[1] on [8080]", "[] on []")
		w.did()
		edit(w.world, own, func(s *discoveryv1.EndpointSlice) {
			s.Labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io"
		})
		w.says("it is back, and one too many", "[1] on [8080]", "[] on []")
		w.wrote("one goes", 0, 0, 1)
	})
}

func TestSlicesAreRestored(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		w.pod(1)
		w.start()
		w.did()
		w.delete(w.all()[0])
		w.says("it was deleted", "[1] on [8080]")
		w.wrote("it is made again", 1, 0, 0)
		edit(w.world, w.all()[0], func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil })
		w.says("it was emptied", "[1] on [8080]")
		edit(w.world, w.all()[0], func(s *discoveryv1.EndpointSlice) { s.Labels["team"] = "mine" })
		w.settle()
		require.Equal(t, "shop", w.all()[0].Labels["team"])
		w.wrote("each time", 0, 2, 0)
		edit(w.world, w.all()[0], func(s *discoveryv1.EndpointSlice) {
			s.Annotations = map[string]string{"mine": "yes"}
		})
		w.settle()
		w.wrote("annotations are nobody's", 0, 0, 0)
		w.pod(2)
		w.says("one more", "[1 2] on [8080]")
		require.Contains(t, w.all()[0].Annotations, "mine")
		edit(w.world, w.all()[0], func(s *discoveryv1.EndpointSlice) {
			s.Labels["kubernetes.io/service-name"] = "other"
		})
		w.says("it names another Service", "[1 2] on [8080]")
	})
}

// A cloud writes the zone some time after the Node was created.
func TestSlicesFollowTheNodes(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		w.pod(1)
		w.pod(2, func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
		w.start()
		w.says("the Node of a Pod is not there yet", "[1] on [8080]")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
		w.create(node)
		w.says("it has come", "[1 2] on [8080]")
		zones := func() (zones []string) {
			w.settle()
			for _, endpoint := range w.all()[0].Endpoints {
				zones = append(zones, valueOr(endpoint.Zone, "none"))
			}
			return zones
		}
		require.Equal(t, []string{"east", "none"}, zones())
		edit(w.world, node, func(n *corev1.Node) {
			n.Labels = map[string]string{"topology.kubernetes.io/zone": "west"}
		})
		require.Equal(t, []string{"east", "west"}, zones())
		w.did()
		edit(w.world, node, func(n *corev1.Node) { n.Labels["note"] = "yes" })
		editStatus(w.world, node, func(n *corev1.Node) { n.Status.Phase = corev1.NodeRunning })
		w.settle()
		w.wrote("nothing else of a Node matters", 0, 0, 0)
		w.delete(node)
		w.says("it is gone, and so is what ran there", "[1] on [8080]")
	})
}

func TestSlicesSayWhatTriggeredThem(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service()
		w.start()
		trigger := func() string {
			w.settle()
			all := w.all()
			return all[len(all)-1].Annotations["endpoints.kubernetes.io/last-change-trigger-time"]
		}
		require.Equal(t, service.CreationTimestamp.UTC().Format(time.RFC3339Nano), trigger(),
			"the creation of the Service")
		since := metav1.NewTime(time.Now().Add(-time.Second).Truncate(time.Second))
		w.pod(1, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = since })
		require.Equal(t, since.UTC().Format(time.RFC3339Nano), trigger(), "a Pod has become ready")
		edit(w.world, service, func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(1)
		})
		require.Empty(t, trigger(), "nobody knows when the Service was changed")
	})
}

func TestANumberOfEndpointsThatTheAPIServerRefusesIsRefused(t *testing.T) {
	for _, most := range []int{-1, 1001} {
		require.ErrorContains(t, SliceSettings{MaxPerSlice: most}.Add(nil, controllers.Options{}),
			"has to be between 1 and 1000")
	}
}

func TestAsManyEndpointsAsTheAPIServerAllowsAreAllowed(t *testing.T) {
	for _, most := range []int{1, 1000} {
		inSlicedWorld(t, func(t *testing.T, w sliced) {
			w.settings = SliceSettings{MaxPerSlice: most}
			w.service()
			w.pod(1)
			w.start()
			w.says("all is right", "[1] on [8080]")
		})
	}
}

func TestASliceHasAHundredEndpointsUnlessSomebodySaysOtherwise(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.settings = SliceSettings{}
		w.service()
		for n := range 101 {
			w.pod(n)
		}
		w.start()
		all := w.all()
		require.Equal(t, []int{1, 100}, []int{len(all[1].Endpoints), len(all[0].Endpoints)})
	})
}

func TestAddSlicesSaysWhatKeepsTheControllerFromWorking(t *testing.T) {
	ours.RefusesMisuse(t, AddSlices, "the EndpointSlice controller",
		"the EndpointSlice controller")
}
