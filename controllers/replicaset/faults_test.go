package replicaset

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

var (
	createsOfPods = fakeapi.Match{UserAgent: agent, Verb: "create", Resource: "pods"}
	deletesOfPods = fakeapi.Match{UserAgent: agent, Verb: "delete", Resource: "pods"}
	watches       = fakeapi.Match{UserAgent: agent, Verb: "watch"}
)

func TestAQuotaStopsTheCreationAndShowsInTheStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lift := w.Server.Inject(fakeapi.Fault{Match: createsOfPods, Skip: 5,
			Status: fakeapi.Forbidden()})
		rs := w.set(100)
		w.Start()
		time.Sleep(3 * time.Millisecond) // less than the first retry takes
		synctest.Wait()
		require.LessOrEqual(t, len(w.Server.Requests(createsOfPods)), 10,
			"1, 2 and 4, then one with each event, and not 100")
		w.Settle()
		status := w.status(rs)
		require.Equal(t, []int32{5, 5, 0},
			[]int32{status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas})
		require.Len(t, status.Conditions, 1)
		condition := status.Conditions[0]
		require.Equal(t, []string{"ReplicaFailure", "True", "FailedCreate"},
			[]string{string(condition.Type), string(condition.Status), condition.Reason})
		require.Contains(t, condition.Message, "forbidden: injected fault")
		require.False(t, condition.LastTransitionTime.IsZero())
		require.NotEmpty(t, w.events()["FailedCreate"])
		require.Contains(t, w.events()["FailedCreate"][0], "Error creating: ")
		w.Wrote()
		time.Sleep(time.Minute)
		require.Zero(t, w.Wrote()["patch replicasets/status"], "that it still fails is no news")

		lift()
		time.Sleep(20 * time.Minute) // the next retry
		w.Settle()
		require.Len(t, w.Pods(), 100)
		require.Empty(t, w.status(rs).Conditions)
	})
}

func TestAFailedDeletionShowsInTheStatusAndIsTriedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(5)
		w.run()
		lift := w.Server.Inject(fakeapi.Fault{Match: deletesOfPods, Skip: 1,
			Status: fakeapi.Forbidden()})
		w.scale(rs, 2)
		require.Len(t, w.Pods(), 4,
			"one deletion was allowed, and the others do not wait for each other")
		require.Equal(t, "FailedDelete", w.status(rs).Conditions[0].Reason)
		require.Contains(t, w.events()["FailedDelete"][0], "Error deleting: ")
		lift()
		time.Sleep(20 * time.Minute)
		require.Len(t, w.Pods(), 2)
		require.Empty(t, w.status(rs).Conditions)
	})
}

// A controller that counted in a late cache would create too many Pods, and then delete the wrong
// ones.
func TestALateCacheMakesNoPodTooMany(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		// one after the other
		w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 500 * time.Millisecond})
		rs := w.set(20)
		w.run()
		for n, want := range []int32{7, 12, 0, 30} {
			w.scale(rs, want)
			require.Len(t, w.Pods(), int(want), "step %d", n)
		}
		did := w.Wrote()
		require.Equal(t, []int{20 + 5 + 30, 13 + 12}, []int{did["create pods"], did["delete pods"]})
		require.Equal(t, 5, did["patch replicasets/status"],
			"one for each number that was asked for")
	})
}

// A write happens, but its answer gets lost: the connection breaks, or a proxy gives up.
func TestALostAnswerMakesNoPodTooManyAndDeletesNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fakeapi.Fault
	}{
		{"a broken connection", fakeapi.Fault{LoseResponse: true}},
		{"a cache that is late, too", fakeapi.Fault{LoseResponse: true}},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			if c.name == "a cache that is late, too" {
				w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 2 * time.Second})
			}
			for _, match := range []fakeapi.Match{createsOfPods, deletesOfPods} {
				fault := c.fault
				fault.Match, fault.Probability, fault.Seed = match, 0.3, 17
				w.Server.Inject(fault)
			}
			rs := w.set(10)
			w.run()
			time.Sleep(time.Hour)
			require.Len(t, w.Pods(), 10, c.name)
			did := w.Wrote()
			require.Zero(t, did["delete pods"], "%s: no Pod was too many", c.name)
			w.scale(rs, 4)
			time.Sleep(time.Hour)
			require.Len(t, w.Pods(), 4, c.name)
			require.Zero(t, w.Wrote()["create pods"], "%s: no Pod was too few", c.name)
			require.Empty(t, w.status(rs).Conditions)
		})
	}
}

func TestTheErrorsThatLeaveADoubt(t *testing.T) {
	pods := corev1.Resource("pods")
	for _, err := range []error{
		apierrors.NewForbidden(pods, "a", nil), apierrors.NewConflict(pods, "a", nil),
		apierrors.NewNotFound(pods, "a"),
		apierrors.NewInvalid(schemaKind, "a", nil), apierrors.NewTooManyRequests("later", 1),
		fmt.Errorf("wrapped: %w", apierrors.NewBadRequest("no")),
	} {
		require.False(t, mayHaveHappened(err), "%v", err)
	}
	for _, err := range []error{
		apierrors.NewInternalError(fmt.Errorf("storage")), apierrors.NewTimeoutError("slow", 1),
		apierrors.NewServerTimeout(pods, "create", 1),
		apierrors.NewServiceUnavailable("stopping"), fmt.Errorf("EOF"),
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}}, &apierrors.StatusError{},
	} {
		require.True(t, mayHaveHappened(err), "%v", err)
	}
}

var schemaKind = corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()

// A user deletes a Pod that the controller deletes, too. The cache is late, so the controller gets
// a 404. It must not delete another Pod instead.
func TestAPodThatSomebodyElseHasDeletedCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(5)
		w.run()
		pods := w.Pods()
		w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 5 * time.Second})
		w.Stop()
		w.run()
		first := firstToGo(pods, nil, 1, time.Now())[0]
		simulation.Edit(w.World, rs, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Replicas = new(int32(4))
		})
		time.Sleep(4 * time.Second)
		w.Wrote()
		w.ends(first)
		w.Settle()
		require.Len(t, w.Pods(), 4)
		require.Equal(t, 1, w.Wrote()["delete pods"])
	})
}

func TestANameThatIsTakenIsNotUsedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Create(orphan("web-00001", nil))
		w.suffix = counter()
		rs := w.set(2)
		w.run()
		require.Equal(t, int32(2), w.status(rs).Replicas)
		require.Len(t, w.Pods(), 3)
		require.Empty(t, w.status(rs).Conditions)
		require.Equal(t, map[string]int{"create pods": 3, "patch replicasets/status": 2}, w.Wrote())
		require.Empty(t, w.events()["FailedCreate"])
	})
}

func TestNobodyComplainsInANamespaceThatIsBeingDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		w.Create(namespace)
		rs := w.set(50, func(rs *appsv1.ReplicaSet) { rs.Namespace = "shop" })
		require.NoError(t, w.Live.Delete(t.Context(), namespace))
		w.run()
		time.Sleep(time.Hour)
		did := w.Wrote()
		require.LessOrEqual(t, did["create pods"], 3)
		require.Empty(t, w.status(rs).Conditions)
		require.Empty(t, w.events())
	})
}

// Of two ReplicaSets with the same selector, one adopts the orphan, and the other creates a Pod.
func TestTwoReplicaSetsDoNotFightForAnOrphan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 6 {
			w.Create(orphan(fmt.Sprint("orphan-", i), template))
		}
		one, two := w.set(3), w.set(3, func(rs *appsv1.ReplicaSet) { rs.Name = "other" })
		w.run()
		time.Sleep(time.Hour)
		require.Len(t, w.Pods(), 6)
		require.Equal(t, []int32{3, 3}, []int32{w.status(one).Replicas, w.status(two).Replicas})
		w.Wrote()
		time.Sleep(time.Hour)
		require.Empty(t, w.Wrote())
	})
}

func TestASuccessorOfTheSameNameHasItsOwnPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(3)
		w.run()
		require.NoError(t, w.Live.Delete(t.Context(), rs,
			client.PropagationPolicy(metav1.DeletePropagationBackground)))
		successor := w.set(3)
		w.Settle()
		own := 0
		for _, pod := range w.Pods() {
			if metav1.IsControlledBy(pod, successor) {
				own++
			}
		}
		require.Equal(t, 3, own)
		require.Len(t, w.Pods(), 6, "the old ones are left to the garbage collector")
	})
}

// The write of the status must not fail because a user scales at the same time.
func TestTheStatusIsWrittenInOneRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 2 * time.Second})
		rs := w.set(1)
		w.Start()
		time.Sleep(3 * time.Second)
		simulation.Edit(w.World, rs, func(rs *appsv1.ReplicaSet) {
			rs.Annotations = map[string]string{"note": "yes"}
		})
		w.Settle()
		require.Equal(t, 1, w.Wrote()["patch replicasets/status"])
		require.Equal(t, int32(1), w.status(rs).Replicas)
	})
}

// A user who has scaled meanwhile sees the new generation in the status, and takes its conditions
// for the result.
func TestAFailureThatDoesNotMatterAnyMoreIsNotReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{Match: createsOfPods, Delay: time.Second,
			Status: fakeapi.Forbidden()})
		rs := w.set(1)
		w.Start()
		time.Sleep(500 * time.Millisecond)
		simulation.Edit(w.World, rs, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Replicas = new(int32(0))
		})
		w.Settle()
		require.Equal(t, map[string]int{"create pods": 1, "patch replicasets/status": 1}, w.Wrote())
		require.Equal(t, []any{int64(2), 0},
			[]any{w.status(rs).ObservedGeneration, len(rs.Status.Conditions)})
	})
}

// endsUnseen runs the controller, and deletes a ReplicaSet. The controller's watch is 10 seconds
// late.
func (w *world) endsUnseen(rs *appsv1.ReplicaSet) {
	late := watches
	late.Resource = "replicasets"
	w.Server.Inject(fakeapi.Fault{Match: late, DelayEvents: 10 * time.Second})
	w.run()
	w.Wrote()
	require.NoError(w.T, w.Live.Delete(w.T.Context(), rs))
}

// The garbage collector deletes the Pods of a ReplicaSet that is gone. If the controller sees that
// before the end of the ReplicaSet, it must not create others.
func TestAReplicaSetThatIsGoneGetsNoPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(3)
		w.endsUnseen(rs)
		for _, pod := range w.Pods() {
			require.NoError(t, w.Live.Delete(t.Context(), pod))
		}
		w.Settle()
		require.Empty(t, w.Wrote()["create pods"])
		require.Empty(t, w.Pods())
	})
}

// The cache still has the ReplicaSet. The garbage collector would delete a Pod that it adopted.
func TestAReplicaSetThatIsGoneAdoptsNoPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(1)
		w.endsUnseen(rs)
		w.Create(orphan("orphan", template))
		w.Settle()
		require.Empty(t, w.Wrote())
	})
}

// proxys404 is a 404 that isn't the API server's.
func proxys404() *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"}}}}
}

// A status that's never written is a rollout that never ends: the Deployment waits for it.
func TestAStatusThatAProxyAnswersWith404IsWrittenAllTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(3)
		w.run()
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "patch",
			Resource: "replicasets"}, Times: 1, Status: proxys404()})
		simulation.Edit(w.World, rs, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 7 })
		time.Sleep(time.Hour)
		w.Settle()
		status := w.status(rs)
		require.Equal(t, rs.Generation, status.ObservedGeneration)
	})
}

// If a proxy's 404 counted as a deletion, or as a creation that didn't happen, there'd be Pods too many for good.
func TestPodsWhoseWritesAProxyAnswersWith404AreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, match := range []fakeapi.Match{createsOfPods, deletesOfPods, {UserAgent: agent, Verb: "get", Resource: "pods"}} {
			w.Server.Inject(fakeapi.Fault{Match: match, Probability: 0.4, Seed: 35, Status: proxys404()})
		}
		rs := w.set(10)
		w.run()
		time.Sleep(2 * time.Hour)
		require.Len(t, w.Pods(), 10)
		require.Zero(t, w.Wrote()["delete pods"], "no Pod was too many")
		w.scale(rs, 4)
		time.Sleep(2 * time.Hour)
		require.Len(t, w.Pods(), 4)
		require.True(t, mayHaveHappened(&apierrors.StatusError{ErrStatus: *proxys404()}), "a proxy may have passed it on")
	})
}
