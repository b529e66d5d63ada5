package deployment

import (
	"fmt"
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

// orphanSet is a ReplicaSet that a user has created, or that a deleted Deployment has left behind.
func (w *world) orphanSet(
	name, image string, replicas int32, owners ...metav1.OwnerReference,
) *appsv1.ReplicaSet {
	w.T.Helper()
	pods := template(image)
	pods.Labels["set"] = name
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: pods.Labels, OwnerReferences: owners,
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pods.Labels},
			Template: pods,
		},
	}
	require.NoError(w.T, w.Live.Create(w.T.Context(), rs))
	return rs
}

func TestOrphansAreAdoptedAndRolledOutAndOthersReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := w.orphanSet("early", "web:0", 2)
		d := w.web(3)
		require.Equal(t, []string{"web:0: 0", "web:1: 3"}, w.sizes())
		w.Read(old)
		require.True(t, metav1.IsControlledBy(old, d))
		require.Equal(t, []string{"", "3"},
			[]string{old.Annotations[revisionAnnotation], old.Annotations[desiredAnnotation]},
			"it got its annotations with its size")

		late := w.orphanSet("late", "web:9", 5)
		w.Settle()
		w.Read(late)
		require.True(t, metav1.IsControlledBy(late, d), "one that comes later")
		require.Equal(t, int32(0), *late.Spec.Replicas)

		late.Labels = map[string]string{"app": "debug"}
		require.NoError(t, w.Live.Update(t.Context(), late))
		w.Settle()
		w.Read(late)
		require.Empty(t, late.OwnerReferences)
		late.Labels["app"] = "web"
		require.NoError(t, w.Live.Update(t.Context(), late))
		w.Settle()
		w.Read(late)
		require.True(t, metav1.IsControlledBy(late, d), "it came back")

		stranger := w.orphanSet("stranger", "web:1", 1,
			metav1.OwnerReference{APIVersion: "v1", Kind: "Other", Name: "x", UID: "x",
				Controller: new(true)})
		w.Settle()
		w.Read(stranger)
		require.Equal(t, int32(1), *stranger.Spec.Replicas, "somebody else's")
	})
}

// A user who deletes a Deployment with --cascade=orphan and creates it again expects the same Pods.
func TestAReplicaSetWithTheTemplateIsFoundUnderAnyName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(3, func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"note": "old"}
		})
		pods := w.Pods()
		require.NoError(t, w.Live.Delete(t.Context(), d,
			client.PropagationPolicy(metav1.DeletePropagationBackground)))
		rs := w.sets()[0]
		rs.OwnerReferences = nil // as the garbage collector does it
		require.NoError(t, w.Live.Update(t.Context(), rs))
		w.Settle()
		w.did()
		d = newWeb(2, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 7 })
		w.Create(d)
		w.Settle()
		require.Zero(t, w.did()["create replicasets"])
		require.Equal(t, []string{"web:1: 2"}, w.sizes())
		require.Len(t, w.Pods(), 2)
		require.Subset(t, podNames(pods), podNames(w.Pods()))
		rs = w.sets()[0]
		require.Equal(t, int32(7), rs.Spec.MinReadySeconds)
		require.Equal(t, "old", rs.Annotations["note"],
			"an annotation is copied, and never taken away")
	})
}

func podNames(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// The cache still has the Deployment, but the API server has its successor, which should adopt the
// ReplicaSets.
func TestNobodyIsAdoptedForADeploymentThatIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(1)
		rs := w.sets()[0]
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "deployments"},
			DelayEvents: 10 * time.Second})
		w.Restart()
		w.Settle()
		w.Server.ForgetRequests()
		require.NoError(t, w.Live.Delete(t.Context(), d,
			client.PropagationPolicy(metav1.DeletePropagationBackground)))
		rs.OwnerReferences = nil
		require.NoError(t, w.Live.Update(t.Context(), rs))
		w.Settle()
		w.Read(rs)
		require.Empty(t, rs.OwnerReferences)
		require.NotEmpty(t, w.Server.Requests(fakeapi.Match{Verb: "get", Resource: "deployments"}),
			"the server was asked")
	})
}

// Two Deployments with the same selector: each keeps its own ReplicaSets.
func TestTwoDeploymentsDoNotFight(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 4 {
			w.orphanSet(fmt.Sprint("orphan-", i), "web:0", 1)
		}
		other := newWeb(2, func(d *appsv1.Deployment) { d.Name = "other" })
		w.Create(other)
		d := w.web(3)
		w.Settle()
		owned := map[string]int32{}
		for _, rs := range w.sets() {
			owned[metav1.GetControllerOf(rs).Name] += *rs.Spec.Replicas
		}
		require.Equal(t, map[string]int32{"web": 3, "other": 2}, owned)
		require.Len(t, w.Pods(), 5)
		w.edit(d, image("web:2"))
		w.did()
		time.Sleep(time.Hour)
		require.Empty(t, w.did())
	})
}

// A Deployment is deleted and created again before the garbage collector has deleted its
// ReplicaSet.
func TestACollisionLeadsToAnotherName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(2)
		left := w.sets()[0]
		require.NoError(t, w.Live.Delete(t.Context(), d,
			client.PropagationPolicy(metav1.DeletePropagationBackground)))
		d = newWeb(2)
		w.Create(d)
		w.Settle()
		sets := w.sets()
		require.Len(t, sets, 2)
		w.Read(d)
		require.Equal(t, int32(1), *d.Status.CollisionCount)
		for _, rs := range sets {
			if rs.Name != left.Name {
				require.Equal(t, "web-"+hashOf(&d.Spec.Template, new(int32(1))), rs.Name)
				require.True(t, metav1.IsControlledBy(rs, d))
			}
		}
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
		require.Equal(t, int32(1), *d.Status.CollisionCount)
	})
}

func TestADeploymentThatSelectsAllIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stranger := w.orphanSet("stranger", "web:1", 1)
		d := newWeb(3)
		d.Spec.Selector = &metav1.LabelSelector{}
		_, err := w.Server.Load(appsv1.SchemeGroupVersion.WithResource("deployments"), d)
		require.NoError(t, err)
		w.Start()
		w.Settle()
		require.Equal(t, []string{"web:1: 1"}, w.sizes())
		w.Read(stranger)
		require.Empty(t, stranger.OwnerReferences)
		require.Contains(t, w.events("SelectingAll"),
			"This deployment is selecting all pods. A non-empty selector is required.")
		w.Read(d)
		require.Equal(t, d.Generation, d.Status.ObservedGeneration)
	})
}

// The garbage collector decides about the ReplicaSets.
func TestADeploymentThatIsBeingDeletedIsOnlyCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(3, func(d *appsv1.Deployment) { d.Finalizers = []string{"loopwright.dev/wait"} })
		require.NoError(t, w.Live.Delete(t.Context(), d))
		w.Settle()
		w.did()
		w.orphanSet("orphan", "web:3", 1)
		w.edit(d, image("web:2"))
		require.Equal(t, map[string]int{"patch deployments/status": 1}, w.did())
		require.Len(t, w.sets(), 2)
		w.Read(d)
		require.Equal(t, []int32{0, 3}, []int32{d.Status.UpdatedReplicas, d.Status.Replicas})
	})
}

// The garbage collector deletes the ReplicaSet of a Deployment that is gone. If the controller sees
// that before the end of the Deployment, it must not create another one.
func TestADeploymentThatIsGoneGetsNoReplicaSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(2)
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: simulation.Agent,
			Verb: "watch", Resource: "deployments"}, DelayEvents: 10 * time.Second})
		w.Restart()
		w.Settle()
		w.did()
		sets := w.sets()
		require.NoError(t, w.Live.Delete(t.Context(), d))
		require.NoError(t, w.Live.Delete(t.Context(), sets[0]))
		w.Settle()
		require.Empty(t, w.sets())
		require.Empty(t, w.did())

		t.Log("one that lost its ReplicaSet gets another, and so does a new one of the same name")
		again := newWeb(2)
		w.Create(again)
		w.Settle()
		require.NoError(t, w.Live.Delete(t.Context(), w.sets()[0]))
		w.Settle()
		require.Equal(t, []string{"web:1: 2"}, w.sizes())
	})
}

// A ReplicaSet with ten Pods is adopted, or a user scales one up: that's more than the surge allows.
// A controller that adds Pods of its own would fill up the nodes.
func TestNoReplicaSetIsScaledUpWhileTheyAskForTooManyPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Watch(&appsv1.ReplicaSetList{})
		w.orphanSet("early", "web:0", 10)
		w.web(3)
		require.Equal(t, []string{"web:0: 0", "web:1: 3"}, w.sizes())
		byHand := &appsv1.ReplicaSet{}
		byHand.Namespace, byHand.Name = "default", "early"
		simulation.Edit(w.World, byHand, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Replicas = new(int32(7))
		})
		w.Settle()
		require.Equal(t, []string{"web:0: 0", "web:1: 3"}, w.sizes())

		sizes, tooMany := map[string]int32{}, 0
		for _, change := range w.Changes() {
			rs := change.Object.(*appsv1.ReplicaSet)
			before, sum := sizes[rs.Name], int32(0)
			sizes[rs.Name] = *rs.Spec.Replicas
			for _, size := range sizes {
				sum += size
			}
			if sum <= 4 {
				continue
			}
			tooMany++
			byUser := rs.Name == "early" && (*rs.Spec.Replicas == 10 || *rs.Spec.Replicas == 7)
			require.True(t, byUser || *rs.Spec.Replicas <= before, "%s: %d -> %d of %d", rs.Name,
				before, *rs.Spec.Replicas, sum)
		}
		require.NotZero(t, tooMany)
	})
}
