package deployment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// workOn is the Work for the Deployment web.
func workOn(objects func() []client.Object) simulation.Work {
	index := claim.Index{Kind: kind.GroupKind()}
	return simulation.Work{
		For: client.ObjectKey{Namespace: "default", Name: "web"}, Objects: objects,
		Indexes: func(to client.FieldIndexer) error {
			return index.Add(context.Background(), to, &appsv1.ReplicaSet{})
		},
		New: func(c client.Client, waiter client.WriteWaiter) reconcile.Reconciler {
			return &reconciler{
				client: c, live: c, waiter: waiter, index: index,
				events: events.NewFakeRecorder(1000),
			}
		},
		Shows: shows,
	}
}

// shows returns all ReplicaSets, and the Deployment's status.
func shows(ctx context.Context, c client.Client) string {
	var sets appsv1.ReplicaSetList
	if err := c.List(ctx, &sets); err != nil {
		return err.Error()
	}
	var lines []string
	for _, rs := range sets.Items {
		owner := "nobody"
		if controller := metav1.GetControllerOf(&rs); controller != nil {
			owner = controller.Name
		}
		lines = append(lines, fmt.Sprintf("%s of %s: %d, for %s to %s, revision %s",
			rs.Spec.Template.Spec.Containers[0].Image, owner,
			*rs.Spec.Replicas, rs.Annotations[desiredAnnotation],
			rs.Annotations[maxAnnotation], rs.Annotations[revisionAnnotation]))
	}
	slices.Sort(lines)
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list); err != nil {
		return err.Error()
	}
	for _, d := range list.Items {
		line := fmt.Sprintf("%s, revision %s", d.Spec.Template.Spec.Containers[0].Image,
			d.Annotations[revisionAnnotation])
		for _, condition := range d.Status.Conditions {
			// after a lost answer, the controller finds it
			reason := strings.Replace(condition.Reason, foundNewSet, createdNewSet, 1)
			line += fmt.Sprintf(", %s %s %s", condition.Type, condition.Status, reason)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// had is a Deployment that was reconciled before.
func had(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := newWeb(replicas, append([]func(*appsv1.Deployment){limit("1", "1")}, changes...)...)
	d.UID, d.Status.ObservedGeneration = "web-uid", 1
	return d
}

// setOf is a ReplicaSet with the Deployment's template and an image, all of whose Pods are
// available. The Deployment wanted this many Pods when it was sized.
func setOf(
	image string, size, desired int32, revision int64, changes ...func(*appsv1.ReplicaSet),
) *appsv1.ReplicaSet {
	d := had(desired)
	d.Spec.Template = template(image)
	rs := newReplicaSet(d, size, revision)
	rs.UID = types.UID(rs.Name)
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: size, ReadyReplicas: size, AvailableReplicas: size, ObservedGeneration: 1,
		TerminatingReplicas: new(int32(0)),
	}
	for _, change := range changes {
		change(rs)
	}
	return rs
}

func uncounted(rs *appsv1.ReplicaSet) { rs.Status.TerminatingReplicas = nil }

func history(limit int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit }
}

// A request that fails in the middle of a rollout must neither stop the rollout nor start it over.
func TestWhicheverCallFailsTheNextLookEndsWhatWasBegun(t *testing.T) {
	ended := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ended",
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(setOf("web:1", 0, 2, 1),
					appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			}},
		Spec: template("web:1").Spec, Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	for _, c := range []struct {
		name    string
		objects func() []client.Object
		want    []string
	}{
		{"it is new", func() []client.Object {
			return []client.Object{newWeb(3, limit("1", "1"))}
		}, []string{
			"web:1 of web: 3, for 3 to 4, revision 1",
			"web:1, revision 1, Progressing True NewReplicaSetCreated, Available False " +
				"MinimumReplicasUnavailable",
		}},
		{"another template", func() []client.Object {
			return []client.Object{had(3, image("web:2")), setOf("web:1", 3, 3, 1)}
		}, []string{
			"web:1 of web: 2, for 3 to 4, revision 1",
			"web:2 of web: 2, for 3 to 4, revision 2",
			"web:2, revision 2, Available True MinimumReplicasAvailable, Progressing True " +
				"ReplicaSetUpdated",
		}},
		{"another size in the middle of a rollout", func() []client.Object {
			return []client.Object{
				had(8, image("web:2")), setOf("web:1", 3, 4, 1), setOf("web:2", 2, 4, 2),
			}
		}, []string{
			"web:1 of web: 5, for 8 to 9, revision 1",
			"web:2 of web: 4, for 8 to 9, revision 2",
			"web:2, revision 2, Available False MinimumReplicasUnavailable, Progressing True " +
				"ReplicaSetUpdated",
		}},
		{"it is paused, and its history is too long", func() []client.Object {
			return []client.Object{
				had(3, image("web:3"), pause(true), history(1)), setOf("web:1", 0, 3, 1),
				setOf("web:2", 0, 3, 2), setOf("web:3", 2, 2, 3),
			}
		}, []string{
			"web:2 of web: 0, for 3 to 4, revision 2",
			"web:3 of web: 3, for 3 to 4, revision 3",
			"web:3, revision 3, Progressing Unknown DeploymentPaused, Available True " +
				"MinimumReplicasAvailable",
		}},
		{"it is done, and its history is too long", func() []client.Object {
			return []client.Object{
				had(3, image("web:3"), history(1)), setOf("web:1", 0, 3, 1),
				setOf("web:2", 0, 3, 2), setOf("web:3", 3, 3, 3),
			}
		}, []string{
			"web:2 of web: 0, for 3 to 4, revision 2",
			"web:3 of web: 3, for 3 to 4, revision 3",
			"web:3, revision 3, Available True MinimumReplicasAvailable, Progressing True " +
				"NewReplicaSetAvailable",
		}},
		{"Recreate, and old Pods", func() []client.Object {
			return []client.Object{had(2, recreate, image("web:2")), setOf("web:1", 2, 2, 1)}
		}, []string{
			"web:1 of web: 0, for 2 to 2, revision 1",
			"web:2, revision , Available True MinimumReplicasAvailable, Progressing True " +
				"ReplicaSetUpdated",
		}},
		{"Recreate, and nobody counts terminating Pods", func() []client.Object {
			return []client.Object{
				had(2, recreate, image("web:2")), setOf("web:1", 0, 2, 1, uncounted),
				ended.DeepCopy(),
			}
		}, []string{
			"web:1 of web: 0, for 2 to 3, revision 1",
			"web:2 of web: 2, for 2 to 2, revision 2",
			"web:2, revision 2, Progressing True NewReplicaSetCreated, Available False " +
				"MinimumReplicasUnavailable",
		}},
		{"Recreate, and the new ones are too few", func() []client.Object {
			return []client.Object{had(4, recreate), setOf("web:1", 2, 4, 1)}
		}, []string{
			"web:1 of web: 4, for 4 to 4, revision 1",
			"web:1, revision 1, Available False MinimumReplicasUnavailable, Progressing True " +
				"ReplicaSetUpdated",
		}},
		{"somebody wants to go back", func() []client.Object {
			back := func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: "1"}
			}
			return []client.Object{
				had(2, image("web:2"), back), setOf("web:1", 0, 2, 1), setOf("web:2", 2, 2, 2),
			}
		}, []string{
			"web:1 of web: 2, for 2 to 3, revision 3",
			"web:2 of web: 1, for 2 to 3, revision 2",
			"web:1, revision 3, Available True MinimumReplicasAvailable, Progressing True " +
				"ReplicaSetUpdated",
		}},
		{"somebody wants to go back, and it is paused", func() []client.Object {
			back := func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: "1"}
			}
			return []client.Object{
				had(2, image("web:2"), back, pause(true), history(0)), setOf("web:1", 0, 2, 1),
				setOf("web:2", 2, 2, 2),
			}
		}, []string{
			"web:1 of web: 0, for 2 to 3, revision 1",
			"web:2 of web: 2, for 2 to 3, revision 2",
			"web:2, revision 2, Progressing Unknown DeploymentPaused, Available True " +
				"MinimumReplicasAvailable",
		}},
		{"somebody has given its ReplicaSet the size before", func() []client.Object {
			return []client.Object{had(5), setOf("web:1", 5, 3, 1)}
		}, []string{
			"web:1 of web: 5, for 5 to 6, revision 1",
			"web:1, revision 1, Available True MinimumReplicasAvailable, Progressing True " +
				"NewReplicaSetAvailable",
		}},
		{"it is paused, and was scaled to nothing before", func() []client.Object {
			return []client.Object{had(0, pause(true)), setOf("web:1", 0, 3, 1)}
		}, []string{
			"web:1 of web: 0, for 3 to 4, revision 1",
			"web:1, revision 1, Progressing Unknown DeploymentPaused, Available True " +
				"MinimumReplicasAvailable",
		}},
		{"the name is taken", func() []client.Object {
			d := had(2, image("web:2"))
			stranger := setOf("web:9", 1, 1, 1)
			stranger.Name = newReplicaSet(asStored(t, d), 1, 1).Name
			stranger.OwnerReferences[0].UID = "stranger"
			return []client.Object{d, stranger}
		}, []string{
			"web:2 of web: 2, for 2 to 3, revision 1",
			"web:9 of web: 1, for 1 to 2, revision 1",
			"web:2, revision 1, Progressing True NewReplicaSetCreated, Available False " +
				"MinimumReplicasUnavailable",
		}},
		{"one to adopt and one to release", func() []client.Object {
			orphaned := func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil }
			relabelled := func(rs *appsv1.ReplicaSet) {
				rs.Labels = map[string]string{"app": "debug"}
			}
			return []client.Object{
				had(2), setOf("web:1", 2, 2, 1, orphaned), setOf("web:2", 2, 2, 1, relabelled),
			}
		}, []string{
			"web:1 of web: 2, for 2 to 3, revision 1",
			"web:2 of nobody: 2, for 2 to 3, revision 1",
			"web:1, revision 1, Available True MinimumReplicasAvailable, Progressing True " +
				"NewReplicaSetAvailable",
		}},
		{"it is gone", func() []client.Object {
			return []client.Object{setOf("web:1", 2, 2, 1)}
		}, []string{"web:1 of web: 2, for 2 to 3, revision 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown := workOn(c.objects).SurvivesEachFailure(t)
			require.Equal(t, c.want, strings.Split(shown, "; "))
		})
	}
}

// asStored is a Deployment with the server's defaults.
func asStored(t *testing.T, d *appsv1.Deployment) *appsv1.Deployment {
	stored := &appsv1.Deployment{}
	require.NoError(t, fake.NewFakeClient(d.DeepCopy()).Get(t.Context(),
		client.ObjectKeyFromObject(d), stored))
	return stored
}
