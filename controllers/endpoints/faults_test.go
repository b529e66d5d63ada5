package endpoints

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// failing is a fault of the controller's writes.
func failing(verb string) fakeapi.Fault {
	match := endpointsWrites
	match.Verb = verb
	return fakeapi.Fault{Match: match, Status: fakeapi.Forbidden()}
}

// Otherwise a rollout of a thousand Pods would cause a thousand writes, each with all addresses so
// far.
func TestAStormOfChangesIsFewWrites(t *testing.T) {
	const pods = 100
	storm := func(w *world) {
		w.service()
		w.start()
		w.did()
		for n := range pods {
			w.pod(n + 1)
			time.Sleep(10 * time.Millisecond)
		}
		w.settle()
		ready, _ := count(w.endpoints().Subsets)
		require.Equal(w.t, pods, ready)
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.settings = Settings{BatchPeriod: 500 * time.Millisecond}
		storm(w)
		require.LessOrEqual(t, w.did()["update endpoints"], 4)
	})
	inWorld(t, func(t *testing.T, w *world) {
		slow := endpointsWrites
		slow.Verb = "update"
		w.server.Inject(fakeapi.Fault{Match: slow, Delay: 100 * time.Millisecond})
		storm(w)
		require.LessOrEqual(t, w.did()["update endpoints"], 13,
			"what changes while one is written makes one more")
	})
}

// Endpoints of many Pods are large, and each write goes to all watchers.
func TestLargeEndpointsAreWrittenLessOften(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		for n := range 50 {
			w.pod(n)
		}
		w.start()
		w.did()
		pod := runningPod(7)
		toggle := func() {
			editStatus(w, pod, func(p *corev1.Pod) {
				ready := &p.Status.Conditions[0].Status
				*ready = map[corev1.ConditionStatus]corev1.ConditionStatus{
					corev1.ConditionTrue:  corev1.ConditionFalse,
					corev1.ConditionFalse: corev1.ConditionTrue,
				}[*ready]
			})
			synctest.Wait()
		}
		toggle()
		require.Equal(t, one, w.did(), "one change does not wait")
		for range 20 {
			time.Sleep(2 * time.Millisecond)
			toggle()
		}
		w.settle()
		require.LessOrEqual(t, w.did()["update endpoints"], 5, "one in 10 ms, for 40 ms")
		_, notReady := count(w.endpoints().Subsets)
		require.Equal(t, 1, notReady, "the last change was written")
	})
}

func TestAChangeWaitsNoLongerThanTheBatchPeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings = Settings{BatchPeriod: 10 * time.Second}
		service := w.service()
		w.start()
		w.pod(1)
		time.Sleep(6 * time.Second)
		w.pod(2)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"10.0.0.1 10.0.0.2  http=8080/TCP"}, text(w.endpoints().Subsets),
			"the second does not put the first off")
		edit(w, service, func(s *corev1.Service) {
			s.Spec.Ports[0].Port, s.Spec.Ports[0].Name = 81, "web"
		})
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"10.0.0.1 10.0.0.2  web=8080/TCP"}, text(w.endpoints().Subsets),
			"a change of the Service does not wait")
	})
}

func TestAWriteThatFailsIsTriedAgainAndIsAnEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lift := w.server.Inject(failing("create"))
		w.service()
		w.start()
		require.Contains(t, w.notes()["FailedToCreateEndpoint"][0],
			"Failed to create endpoint for service default/web: ")
		lift()
		time.Sleep(time.Hour)
		require.NotNil(t, w.endpoints())
		lift = w.server.Inject(failing("update"))
		w.pod(1)
		w.settle()
		require.Contains(t, w.notes()["FailedToUpdateEndpoint"][0],
			"Failed to update endpoint for service default/web: ")
		lift()
		time.Sleep(time.Hour)
		w.says("all is right", "10.0.0.1  http=8080/TCP")
	})
}

// Another client writes the Endpoints, and the watch is late.
func TestAConflictIsNoEventAndHasNoVictim(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "endpoints"}, DelayEvents: 5 * time.Second})
		w.start()
		edit(w, byHand(), func(e *corev1.Endpoints) {
			e.Annotations = map[string]string{"mine": "yes"}
		})
		w.pod(1)
		w.says("all is right", "10.0.0.1  http=8080/TCP")
		require.Contains(t, w.endpoints().Annotations, "mine")
		require.Empty(t, w.notes())
	})
}

// The answer to a write is lost; then the Pods become what they were before, and the late cache
// still shows the old Endpoints. A controller that compares the two finds nothing to do, and the
// write arrives in the cache later.
func TestAWriteWhoseAnswerIsLostIsNotForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		pod := w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "endpoints"}, DelayEvents: 20 * time.Second})
		w.start()
		lost := endpointsWrites
		lost.Verb = "update"
		w.server.Inject(fakeapi.Fault{Match: lost, Times: 1, LoseResponse: true,
			OnHit: func(fakeapi.Request) {}})
		ready := func(status corev1.ConditionStatus) {
			editStatus(w, pod, func(p *corev1.Pod) { p.Status.Conditions[0].Status = status })
			time.Sleep(time.Millisecond)
		}
		ready(corev1.ConditionFalse)
		ready(corev1.ConditionTrue)
		w.says("what is true in the end", "10.0.0.1  http=8080/TCP")
	})
}

// The cache has seen the end of a Service, and not yet the next one of that name.
func TestAServiceThatWasMadeAgainKeepsItsEndpoints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "services"}, DelayEvents: 5 * time.Second})
		w.start()
		w.did()
		w.delete(service)
		w.service()
		w.says("they were never gone", "10.0.0.1  http=8080/TCP")
		require.Empty(t, w.did())
	})
}

// An API server deletes the Endpoints of a Service that it deletes, and the cache sees that first.
func TestEndpointsAreNotMadeAgainForAServiceThatIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "services"}, DelayEvents: 5 * time.Second})
		w.start()
		w.did()
		w.delete(service)
		w.delete(w.endpoints())
		w.settle()
		require.Nil(t, w.endpoints())
		require.Empty(t, w.did())
		w.service()
		w.says("a new Service of that name", "10.0.0.1  http=8080/TCP")
		w.delete(w.endpoints())
		w.says("they alone were deleted", "10.0.0.1  http=8080/TCP")
	})
}

// A user deletes a Service, and uses its Endpoints for something else.
func TestEndpointsThatHaveChangedAreNotDeletedUnseen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		w.start()
		deletion := endpointsWrites
		deletion.Verb = "delete"
		w.server.Inject(fakeapi.Fault{Match: deletion, Times: 1, Delay: time.Second})
		w.delete(service)
		time.Sleep(500 * time.Millisecond)
		edit(w, byHand(), func(e *corev1.Endpoints) {
			e.Annotations = map[string]string{leaderAnnotation: "{}"}
		})
		w.settle()
		require.NotNil(t, w.endpoints())
	})
}

func TestEndpointsThatTheCacheDoesNotHaveYetGoWithTheirService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.end()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "endpoints"}, DelayEvents: 30 * time.Second})
		w.start()
		service := w.service(func(s *corev1.Service) { s.Spec.Selector = nil })
		w.create(byHand())
		time.Sleep(time.Second)
		w.delete(service)
		time.Sleep(time.Second)
		require.Nil(t, w.endpoints())
	})
}

func TestNobodyComplainsInANamespaceThatIsBeingDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		w.create(namespace)
		w.service(func(s *corev1.Service) { s.Namespace = "shop" })
		w.delete(namespace)
		w.start()
		time.Sleep(time.Hour)
		require.Equal(t, 1, w.did()["create endpoints"])
		require.Empty(t, w.notes())
	})
}

func TestALateCacheLeadsToNoMoreWrites(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 500 * time.Millisecond})
		w.service()
		w.start()
		for n := range 5 {
			w.pod(n + 1)
			w.settle()
		}
		require.Equal(t, map[string]int{"create endpoints": 1, "update endpoints": 5}, w.did())
	})
}

// An event of a Pod must lead only to reconciles of the Services that it concerns.
func TestAPodWakesTheServicesThatSelectIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		selecting := func(name string, selector map[string]string) {
			w.service(func(s *corev1.Service) { s.Name, s.Spec.Selector = name, selector })
		}
		selecting("web", map[string]string{"app": "web"})
		selecting("new", map[string]string{"app": "web", "version": "2"})
		selecting("all", map[string]string{"tier": "front"})
		w.start()
		w.did()
		written := func() (names []string) {
			w.settle()
			for _, r := range w.whole.Writes() {
				names = append(names, r.Name)
			}
			w.server.ForgetRequests()
			return names
		}
		pod := w.pod(1, func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": "web", "version": "1", "tier": "front"}
		})
		require.ElementsMatch(t, []string{"web", "all"}, written())
		edit(w, pod, func(p *corev1.Pod) { p.Labels["version"] = "2" })
		require.Equal(t, []string{"new"}, written())
		edit(w, pod, func(p *corev1.Pod) {
			p.Labels = map[string]string{"version": "2", "tier": "front"}
		})
		require.ElementsMatch(t, []string{"web", "new"}, written())
		editStatus(w, pod, notReady)
		require.Equal(t, []string{"all"}, written())
		w.delete(pod, client.GracePeriodSeconds(0))
		require.Equal(t, []string{"all"}, written())
	})
}

func TestWhoIsConcernedByNewLabels(t *testing.T) {
	key := func(names ...string) (keys []client.ObjectKey) {
		for _, name := range names {
			keys = append(keys, client.ObjectKey{Name: name})
		}
		return keys
	}
	for _, changed := range []bool{false, true} {
		want := key("lost", "won")
		if changed {
			want = key("kept", "lost", "won")
		}
		require.Equal(t, want, concerned(key("kept", "lost"), key("kept", "won"), changed),
			fmt.Sprint(changed))
	}
}

// The watch breaks, and the server has forgotten the history: the next list has Pods that are ready
// already, and lacks others.
func TestPodsThatCameAndWentUnseenAreNoticed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.service()
		gone := w.pod(1)
		pods := fakeapi.Match{UserAgent: agent, Resource: "pods"}
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "pods"}, CutAfter: 2 * time.Minute})
		w.start()
		lift := w.server.Inject(fakeapi.Fault{Match: pods, Status: fakeapi.Unavailable()})
		time.Sleep(3 * time.Minute)
		w.pod(2)
		w.says("nobody knows yet", "10.0.0.1  http=8080/TCP")
		w.server.CompactAll()
		lift()
		w.says("one is new", "10.0.0.1 10.0.0.2  http=8080/TCP")

		lift = w.server.Inject(fakeapi.Fault{Match: pods, Status: fakeapi.Unavailable()})
		time.Sleep(3 * time.Minute)
		w.delete(gone, client.GracePeriodSeconds(0))
		w.server.CompactAll()
		lift()
		w.says("one is gone", "10.0.0.2  http=8080/TCP")
	})
}

// Addresses of a Service that's gone send its clients to whoever has them now.
func TestTheEndpointsOfADeletedServiceGoEvenIfAProxySaysThatTheyHave(t *testing.T) {
	for _, verb := range []string{"get", "delete"} {
		inWorld(t, func(t *testing.T, w *world) {
			service := w.service()
			w.pod(1)
			w.start()
			require.NotNil(t, w.endpoints())
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: verb, Resource: "endpoints"},
				Times: 1, Status: &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}})
			require.NoError(t, w.users.Delete(t.Context(), service))
			time.Sleep(time.Hour)
			w.settle()
			require.True(t, apierrors.IsNotFound(w.users.Get(t.Context(), client.ObjectKeyFromObject(service), &corev1.Endpoints{})), verb)
		})
	}
}

// A user takes the selector away and says by hand where the Service leads. While the cache doesn't
// show the Service as it is, the controller may write over that; but it must not do so again as
// soon as the cache does, or the user would fight with it for good.
func TestEndpointsByHandStayAsSoonAsTheCacheShowsThatTheServiceHasNoSelector(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		service := w.service()
		w.pod(1)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch",
			Resource: "services"}, DelayEvents: 5 * time.Second})
		w.start()
		w.did()
		edit(w, service, func(s *corev1.Service) { s.Spec.Selector = nil })
		byHandNow := func() {
			edit(w, byHand(), func(e *corev1.Endpoints) { e.Subsets = byHand().Subsets })
		}
		byHandNow()
		w.settle()
		require.NotEmpty(t, w.did(), "the documentation promises too little")
		byHandNow()
		w.settle()
		w.says("what the user says", "192.0.2.1  http=8080/TCP")
	})
}
