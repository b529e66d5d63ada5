package endpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// failingSlices is a fault of the controller's writes of slices.
func failingSlices(verb string) fakeapi.Fault {
	return fakeapi.Fault{
		Match:  fakeapi.Match{UserAgent: agent, Verb: verb, Resource: "endpointslices"},
		Status: fakeapi.Forbidden(),
	}
}

// lost is a fault: a write of slices happens, but its answer gets lost.
func lost(verb string) fakeapi.Fault {
	return fakeapi.Fault{Match: failingSlices(verb).Match, Times: 1, LoseResponse: true}
}

// Each node would get a second slice with the same endpoints, which would never go.
func TestACreateWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	for _, late := range []time.Duration{0, 5 * time.Second} {
		// with three, the answer to the next create says that the cache is late
		for _, pods := range []int{2, 3} {
			inSlicedWorld(t, func(t *testing.T, w sliced) {
				w.service()
				for n := range pods {
					w.pod(n + 1)
				}
				w.server.Inject(fakeapi.Fault{Match: sliceWatches, DelayEvents: late})
				w.server.Inject(lost("create"))
				w.start()
				w.says("no endpoint is there twice",
					[]string{"[1 2] on [8080]", "[3] on [8080]"}[:pods-1]...)
				require.Empty(t, w.did()["delete endpointslices"], "and none ever was")
				require.Empty(t, w.notes()[1:], "that the slice is there already is no news")
			})
		}
	}
}

// The process ends between a create and its answer. The next process does not know of the create.
func TestACrashAfterACreateLeavesNoTwin(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		for n := range 3 {
			w.pod(n + 1)
		}
		w.whole.CrashAfter(fakeapi.Match{Verb: "create", Resource: "endpointslices"}, 0)
		w.start()
		time.Sleep(time.Minute) // the next process waits for the lease
		w.says("all are there once", "[1 2] on [8080]", "[3] on [8080]")
		require.Empty(t, w.did()["delete endpointslices"], "none was too many")
	})
}

func TestALateWatchLeadsToNoTwin(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 500 * time.Millisecond})
		w.service()
		w.start()
		for n := range 5 {
			w.pod(n + 1)
			w.settle()
		}
		w.says("all are there once", "[1 2] on [8080]", "[3 4] on [8080]", "[5] on [8080]")
		w.wrote("one write for each", 3, 3, 0)
	})
}

// The answer to a write is lost; then the Pods become what they were before, and the late cache
// still shows the old slices.
func TestASliceWhoseUpdateIsLostIsNotForgotten(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		pod := w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: sliceWatches, DelayEvents: 20 * time.Second})
		w.start()
		w.server.Inject(lost("update"))
		for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse,
			corev1.ConditionTrue} {
			editStatus(w.world, pod, func(p *corev1.Pod) { p.Status.Conditions[0].Status = status })
			time.Sleep(time.Millisecond)
		}
		w.says("what is true in the end", "[1] on [8080]")
	})
}

// Another client writes a slice, and the watch is late.
func TestAConflictOverASliceIsNoEventAndHasNoVictim(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		gone := w.pod(2)
		w.server.Inject(fakeapi.Fault{Match: sliceWatches, DelayEvents: 5 * time.Second})
		w.start()
		edit(w.world, w.all()[0], func(s *discoveryv1.EndpointSlice) {
			s.Annotations = map[string]string{"mine": "yes"}
		})
		w.pod(1)
		w.says("all is right", "[2 1] on [8080]")
		require.Contains(t, w.all()[0].Annotations, "mine")
		w.pod(3)
		w.settle()
		w.delete(gone)
		w.says("and again", "[(2) 1] on [8080]", "[3] on [8080]")
		require.Empty(t, w.notes())
	})
}

// Another slice may have the name that the controller computes.
func TestASliceGetsTheNextNameIfOneIsTaken(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service()
		for n, manager := range []string{"mesh", "endpointslice-controller.k8s.io"} {
			taken := foreign(manager)
			taken.Name = nameOf(service, n)
			if n == 1 {
				taken.Labels["kubernetes.io/service-name"] = "other"
			}
			w.create(taken)
		}
		w.pod(1)
		w.start()
		w.says("it has another name", "[1] on [8080]", "[99] on []")
		require.Equal(t, nameOf(service, 2), w.all()[0].Name)
		require.Empty(t, w.notes())
	})
}

func TestAWriteOfSlicesThatFailsIsTriedAgainAndIsAnEvent(t *testing.T) {
	for _, verb := range []string{"create", "update", "delete"} {
		inSlicedWorld(t, func(t *testing.T, w sliced) {
			service := w.service()
			gone := w.pod(3)
			if verb != "create" {
				w.pod(1)
				w.pod(2)
				w.start()
			}
			lift := w.server.Inject(failingSlices(verb))
			switch verb {
			case "create":
				w.start()
			case "update":
				editStatus(w.world, gone, notReady)
			case "delete":
				w.delete(gone, client.GracePeriodSeconds(0))
				edit(w.world, service, func(s *corev1.Service) {
					s.Labels = map[string]string{"team": "search"}
				})
			}
			w.settle()
			require.Contains(t, w.notes()[0],
				"Error updating Endpoint Slices for Service default/web: "+verb+
					" the EndpointSlice web-")
			lift()
			time.Sleep(time.Hour)
			want := map[string][]string{
				"create": {"[3] on [8080]"}, "update": {"[(3)] on [8080]", "[1 2] on [8080]"},
				"delete": {"[1 2] on [8080]"},
			}
			w.says(verb, want[verb]...)
		})
	}
}

// If the API server refuses one slice, the controller still has to write the others.
func TestASliceThatIsRefusedDoesNotKeepTheOthersFromBeingWritten(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		pods := []*corev1.Pod{w.pod(1), w.pod(2), w.pod(3)}
		w.start()
		refused := failingSlices("update")
		refused.Match.Name = w.all()[0].Name
		w.server.Inject(refused)
		for _, pod := range pods {
			editStatus(w.world, pod, notReady)
		}
		w.says("the other is right", "[(3)] on [8080]", "[1 2] on [8080]")
	})
}

// The garbage collector deletes the slices of a deleted Service, and the cache sees that first.
func TestSlicesAreNotMadeAgainForAServiceThatIsGone(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service()
		w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "services"}, DelayEvents: 5 * time.Second})
		w.start()
		w.did()
		w.delete(service)
		w.delete(w.all()[0])
		w.says("nothing", nil...)
		w.wrote("nothing", 0, 0, 0)
		w.service()
		w.says("a new Service of that name", "[1] on [8080]")
	})
}

// The memory of a Service that is gone would stay forever.
func TestAServiceThatIsGoneIsForgotten(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service()
		w.pod(1)
		w.start()
		w.delete(service)
		w.delete(w.all()[0])
		w.settle()
		w.server.ForgetRequests()
		w.service()
		w.says("a new Service of that name", "[1] on [8080]")
		asked := w.server.Requests(fakeapi.Match{UserAgent: agent, Verb: "get",
			Resource: "services"})
		require.Empty(t, asked, "one that had slices before would be asked for")
	})
}

// The watch is late, so the controller does not know yet that another program manages the slice.
func TestASliceThatSomebodyHasTakenIsNotDeleted(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.service()
		w.pod(1)
		w.pod(2)
		gone := w.pod(3)
		w.server.Inject(fakeapi.Fault{Match: sliceWatches, DelayEvents: 5 * time.Second})
		w.start()
		edit(w.world, w.all()[1], func(s *discoveryv1.EndpointSlice) {
			s.Labels["endpointslice.kubernetes.io/managed-by"] = "mesh"
		})
		w.delete(gone, client.GracePeriodSeconds(0))
		w.says("it is still there", "[1 2] on [8080]", "[3] on [8080]")
	})
}

func TestAServiceThatIsBeingDeletedGetsNoNewSlices(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		service := w.service(func(s *corev1.Service) {
			s.Finalizers = []string{"example.com/held"}
		})
		w.pod(1)
		w.start()
		w.delete(service)
		w.settle()
		w.did()
		w.delete(w.all()[0])
		w.pod(2)
		w.says("nothing", nil...)
		w.wrote("nothing", 0, 0, 0)
	})
}

func TestNobodyComplainsAboutSlicesInANamespaceThatIsBeingDeleted(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		w.create(namespace)
		w.service(func(s *corev1.Service) { s.Namespace = "shop" })
		w.delete(namespace)
		w.start()
		time.Sleep(time.Hour)
		w.wrote("one try", 1, 0, 0)
		require.Empty(t, w.notes())
	})
}

// The same burst as for Endpoints, where each write has all addresses. Here it has those of one
// slice.
func TestAStormIsFewWritesOfSlices(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.settings = SliceSettings{BatchPeriod: 500 * time.Millisecond}
		w.service()
		w.start()
		w.did()
		for n := range 100 {
			w.pod(n + 1)
			time.Sleep(10 * time.Millisecond)
		}
		w.settle()
		require.Len(t, w.all(), 1)
		require.Len(t, w.all()[0].Endpoints, 100)
		require.LessOrEqual(t, w.did()["update endpointslices"], 4)
	})
}

// After a write, the controller waits in proportion to what it has written, so that all changes of
// that time are one write.
func TestAStormWithoutABatchPeriodIsFewerWritesThanChanges(t *testing.T) {
	inSlicedWorld(t, func(t *testing.T, w sliced) {
		w.settings = SliceSettings{}
		w.service()
		for n := range 50 {
			w.pod(n)
		}
		w.start()
		w.did()
		for n := range 20 {
			editStatus(w.world, runningPod(n), notReady)
			time.Sleep(2 * time.Millisecond)
		}
		w.settle()
		require.LessOrEqual(t, w.did()["update endpointslices"], 6, "one in 10 ms, for 40 ms")
		require.Equal(t, 20, countNotReady(w.all()))
	})
}

func countNotReady(all []*discoveryv1.EndpointSlice) (n int) {
	for _, slice := range all {
		for i := range slice.Endpoints {
			if !*slice.Endpoints[i].Conditions.Ready {
				n++
			}
		}
	}
	return n
}
