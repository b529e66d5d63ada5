package deployment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

var creates = fakeapi.Match{UserAgent: simulation.Agent, Verb: "create", Resource: "replicasets"}

func TestAReplicaSetThatCannotBeCreatedShows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lift := w.Server.Inject(fakeapi.Fault{Match: creates, Status: fakeapi.Forbidden()})
		d := w.web(3)
		require.Equal(t,
			map[appsv1.DeploymentConditionType]string{"Progressing": "False ReplicaSetCreateError"},
			w.conditions(d))
		name := nameWith("web", hashOf(&d.Spec.Template, nil))
		require.Contains(t, d.Status.Conditions[0].Message,
			fmt.Sprintf("Failed to create new replica set %q: ", name))
		require.Contains(t, w.events("ReplicaSetCreateError")[0], "forbidden")
		require.Equal(t, 1, w.did()["patch deployments/status"], "that it still fails is no news")
		lift()
		time.Sleep(20 * time.Minute) // the next retry
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
	})
}

func TestPodsThatCannotBeCreatedShow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lift := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent,
			Verb: "create", Resource: "pods"}, Status: fakeapi.Forbidden()})
		d := w.web(3)
		require.Equal(t, map[appsv1.DeploymentConditionType]string{
			"Progressing":    "True NewReplicaSetCreated",
			"Available":      "False MinimumReplicasUnavailable",
			"ReplicaFailure": "True FailedCreate",
		}, w.conditions(d))
		require.Equal(t, int32(3), d.Status.UnavailableReplicas)
		time.Sleep(11 * time.Minute)
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"],
			"after the ten minutes that are usual")
		lift()
		time.Sleep(20 * time.Minute)
		require.Equal(t, map[appsv1.DeploymentConditionType]string{
			"Progressing": "True NewReplicaSetAvailable",
			"Available":   "True MinimumReplicasAvailable",
		}, w.conditions(d))
	})
}

// The write happens, but its answer gets lost. If the controller did not ask the API server, it
// would count a collision with its own ReplicaSet.
func TestALostAnswerMakesNoSecondReplicaSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, match := range []fakeapi.Match{creates,
			{UserAgent: simulation.Agent, Verb: "patch", Resource: "replicasets"}} {
			w.Server.Inject(fakeapi.Fault{Match: match, Probability: 0.5, Seed: 18,
				LoseResponse: true})
		}
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent,
			Verb: "watch"}, DelayEvents: 700 * time.Millisecond})
		d := w.web(4)
		for i := range 4 {
			w.edit(d, image(fmt.Sprint("web:", i+2)), replicas(int32(3+i)))
			w.Settle()
		}
		require.Equal(t, []string{"web:1: 0", "web:2: 0", "web:3: 0", "web:4: 0", "web:5: 6"},
			w.sizes())
		require.Nil(t, d.Status.CollisionCount)
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
		require.Equal(t, "5", d.Annotations[revisionAnnotation])
	})
}

// A controller that gave up asking would decide from a late cache, and write everything twice.
func TestTheServerIsAskedUntilItAnswersAndThenNoMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ofSets := func(verb string) fakeapi.Match {
			return fakeapi.Match{UserAgent: simulation.Agent, Verb: verb, Resource: "replicasets"}
		}
		loses := func(verb string) {
			w.Server.Inject(fakeapi.Fault{Match: ofSets(verb), Times: 1, LoseResponse: true})
			w.Server.Inject(fakeapi.Fault{Match: ofSets("get"), Times: 3,
				Status: fakeapi.Unavailable()})
		}
		w.Server.Inject(fakeapi.Fault{Match: ofSets("watch"), DelayEvents: 2 * time.Second})
		loses("create")
		d := w.web(4)
		require.Equal(t, []string{"web:1: 4"}, w.sizes())
		require.Equal(t, 1, w.did()["create replicasets"])

		loses("patch")
		w.edit(d, replicas(6))
		require.Equal(t, []string{"web:1: 6"}, w.sizes())
		require.Equal(t, 1, w.did()["patch replicasets"])

		w.edit(d, image("web:2"))
		loses("delete")
		w.edit(d, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		require.Equal(t, []string{"web:2: 6"}, w.sizes())
		require.Equal(t, 1, w.did()["delete replicasets"])

		w.edit(d, replicas(3))
		require.Empty(t, w.Server.Requests(ofSets("get")), "nothing is unconfirmed any more")
	})
}

// A user scales a ReplicaSet at the same time as the controller, whose decision is then out of
// date.
func TestAWriteFromAnOlderStateIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4, limit("1", "0"))
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent,
			Verb: "watch", Resource: "replicasets"}, DelayEvents: 5 * time.Second})
		w.Restart()
		w.Settle()
		rs := w.sets()[0]
		rs.Spec.Replicas = new(int32(5))
		require.NoError(t, w.Live.Update(t.Context(), rs))
		w.did()
		w.edit(d, replicas(2))
		require.Equal(t, []string{"web:1: 2"}, w.sizes())
		require.Equal(t, 2, w.did()["patch replicasets"], "the first was refused")
	})
}

func TestNobodyComplainsInANamespaceThatIsBeingDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		w.Create(namespace)
		d := newWeb(3, func(d *appsv1.Deployment) { d.Namespace = "shop" })
		w.Create(d)
		require.NoError(t, w.Live.Delete(t.Context(), namespace))
		w.Start()
		time.Sleep(time.Hour)
		require.Equal(t, map[string]int{"create replicasets": 1}, w.did())
		require.Empty(t, w.conditions(d))
		require.Empty(t, w.events("ReplicaSetCreateError"))
	})
}

func TestTheHistoryIsCleanedUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(2, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(2)) })
		for i := range 4 {
			w.edit(d, image(fmt.Sprint("web:", i+2)))
		}
		require.Equal(t, []string{"web:3: 0", "web:4: 0", "web:5: 2"}, w.sizes())
		w.edit(d, image("web:3")) // by revision, web:3 is the newest now
		w.edit(d, image("web:6"))
		require.Equal(t, []string{"web:3: 0", "web:5: 0", "web:6: 2"}, w.sizes())
		w.edit(d, pause(true), func(d *appsv1.Deployment) {
			d.Spec.RevisionHistoryLimit = new(int32(0))
		})
		require.Equal(t, []string{"web:6: 2"}, w.sizes(), "though it is paused")
	})
}

func TestTheOldFieldForRollbacksIsObeyed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(2, func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"kubernetes.io/change-cause": "first"}
		})
		w.edit(d, image("web:2"), func(d *appsv1.Deployment) {
			d.Annotations["kubernetes.io/change-cause"] = "second"
		})
		rollback := func(revision string) {
			w.edit(d, func(d *appsv1.Deployment) {
				d.Annotations[appsv1.DeprecatedRollbackTo] = revision
			})
			w.Read(d)
			require.NotContains(t, d.Annotations, appsv1.DeprecatedRollbackTo)
		}
		rollback("1")
		require.Equal(t, []string{"web:1: 2", "web:2: 0"}, w.sizes())
		require.Equal(t, []string{"first", "3"},
			[]string{d.Annotations["kubernetes.io/change-cause"],
				d.Annotations[revisionAnnotation]})
		require.Equal(t, []string{`Rolled back deployment "web" to revision 1`},
			w.events("DeploymentRollback"))
		rollback("0")
		require.Equal(t, []string{"web:1: 0", "web:2: 2"}, w.sizes(), "to the last one")
		rollback("4")
		require.Equal(t,
			[]string{`The rollback revision contains the same template as current deployment "web"`}, w.events("DeploymentRollbackTemplateUnchanged"))
		rollback("99")
		require.Equal(t, []string{"Unable to find the revision to rollback to."},
			w.events("DeploymentRollbackRevisionNotFound"))
		require.Equal(t, []string{"web:1: 0", "web:2: 2"}, w.sizes())
	})
}

// An older ReplicaSet controller does not report how many Pods are terminating.
func TestRecreateAsksForPodsIfNobodyCountsThem(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		set := client.ObjectKey{}
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent,
			Verb: "patch", Resource: "replicasets", Subresource: "status"}, Refuse: true})
		d := w.web(1, recreate)
		old := w.sets()[0]
		set = client.ObjectKeyFromObject(old)
		olderController := func() { // reports no terminating Pods
			require.NoError(t, w.Live.Get(t.Context(), set, old))
			old.Status = appsv1.ReplicaSetStatus{ObservedGeneration: old.Generation}
			require.NoError(t, w.Live.Status().Update(t.Context(), old))
		}
		pod := w.Pods()[0]
		pod.Finalizers = []string{"loopwright.dev/wait"}
		require.NoError(t, w.Live.Update(t.Context(), pod))
		w.edit(d, image("web:2"))
		olderController()
		w.Settle()
		require.Equal(t, []string{"web:1: 0"}, w.sizes())
		w.Read(d)
		require.Nil(t, d.Status.TerminatingReplicas, "half a sum is none")
		w.Read(pod)
		pod.Finalizers = nil
		require.NoError(t, w.Live.Update(t.Context(), pod))
		w.Settle()
		require.Equal(t, []string{"web:1: 0", "web:2: 1"}, w.sizes())
	})
}

// The API allows names of 253 characters.
func TestALongNameIsCut(t *testing.T) {
	name := nameWith(strings.Repeat("x", 253), "abcdefghij")
	require.Len(t, name, 253)
	require.True(t, strings.HasSuffix(name, "x-abcdefghij"))
	require.Equal(t, "web-abc", nameWith("web", "abc"))
}

// If the controller forgets an unconfirmed write, the next reconcile decides from a cache that is
// late.
func TestEachDeploymentHasItsOwnDoubts(t *testing.T) {
	web := client.ObjectKey{Namespace: "default", Name: "web"}
	api := client.ObjectKey{Namespace: "default", Name: "api"}
	var d unconfirmedWrites
	require.Empty(t, d.open(web))
	d.add(web, "web-b")
	d.add(api, "api-a")
	d.add(web, "web-a")
	require.Equal(t, []string{"web-a", "web-b"}, d.open(web))
	d.settled(web)
	require.Empty(t, d.open(web))
	require.Equal(t, []string{"api-a"}, d.open(api))
}

// A status that's never written is a rollout that never ends, for kubectl and for everybody else who waits.
func TestAStatusThatAProxyAnswersWith404IsWrittenAllTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(3)
		w.Settle()
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent, Verb: "patch",
			Resource: "deployments"}, Times: 1, Status: &metav1.Status{Status: metav1.StatusFailure, Code: 404,
			Reason: metav1.StatusReasonNotFound}})
		simulation.Edit(w.World, d, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(700)) })
		time.Sleep(time.Hour)
		w.Settle()
		w.Read(d)
		require.Equal(t, d.Generation, d.Status.ObservedGeneration)
	})
}

// The write that says a rollout has begun conflicts, and no Pod of the rollout will ever serve. With the
// original, nobody says it again, and kubectl waits for a rollout that's never late.
func TestARolloutIsLateThoughItsBeginningCouldNotBeWritten(t *testing.T) {
	for what, fault := range map[string]fakeapi.Fault{
		"conflict": {Status: fakeapi.Conflict()}, "unavailable": {Status: fakeapi.Unavailable()}, "lost": {Refuse: true},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			d := w.web(3)
			require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
			fault.Match = fakeapi.Match{UserAgent: simulation.Agent, Verb: "patch", Resource: "deployments"}
			lift := w.Server.Inject(fault)
			simulation.Edit(w.World, d, image("bad:2"))
			time.Sleep(time.Minute) // the new ReplicaSet has its Pod by then, and nothing moves any more
			lift()
			time.Sleep(20 * time.Minute)
			w.Settle()
			require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"], what)
		})
	}
}

// An autoscaler must be obeyed even if the rollout cannot go on: nobody scales the old ReplicaSet again
// when its annotation says that this has been done.
func TestTheOldReplicaSetIsScaledToTheWholeNumberIfTheNewOneIsRefused(t *testing.T) {
	for _, unavailable := range []string{"25%", "50%", "100%"} {
		inWorld(t, func(t *testing.T, w *world) {
			d := w.web(4, limit("25%", unavailable))
			w.Server.Inject(fakeapi.Fault{Match: creates, Status: fakeapi.Forbidden()})
			w.edit(d, image("web:2"))
			w.edit(d, replicas(20))
			require.Equal(t, []string{"web:1: 20"}, w.sizes(), unavailable)
		})
	}
}
