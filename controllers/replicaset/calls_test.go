package replicaset

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
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// workOn is the Work for the ReplicaSet web.
func workOn(objects func() []client.Object) simulation.Work {
	index := claim.Index{Kind: kind.GroupKind()}
	return simulation.Work{
		For: webSet, Objects: objects,
		Indexes: func(to client.FieldIndexer) error {
			return index.Add(context.Background(), to, &corev1.Pod{})
		},
		New: func(c client.Client, waiter client.WriteWaiter) reconcile.Reconciler {
			return &reconciler{
				client: c, cached: c, live: c, waiter: waiter, index: index, suffix: counter(),
				burst: defaultBurst, events: events.NewFakeRecorder(1000),
			}
		},
		Shows: func(ctx context.Context, c client.Client) string {
			var pods corev1.PodList
			rs := &appsv1.ReplicaSet{}
			if err := c.List(ctx, &pods); err != nil {
				return err.Error()
			} else if err := client.IgnoreNotFound(c.Get(ctx, webSet, rs)); err != nil {
				return err.Error()
			}
			var lines []string
			for _, pod := range pods.Items {
				if pod.DeletionTimestamp != nil {
					continue
				}
				// the suffixes of new Pods are numbers
				name := strings.TrimRight(pod.Name, "0123456789")
				if owner := metav1.GetControllerOf(&pod); owner != nil {
					name += " of " + owner.Name
				}
				lines = append(lines, name)
			}
			slices.Sort(lines)
			s := rs.Status
			return fmt.Sprintf("%s; %d, %d labelled, %d ready, conditions %v",
				strings.Join(lines, ", "), s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas,
				s.Conditions)
		},
	}
}

// of makes a ReplicaSet the owner of a Pod.
func of(set string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		rs := newReplicaSet(1)
		rs.Name, rs.UID = set, types.UID(set+"-uid")
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)}
	}
}

// there is a Pod of the ReplicaSet web.
func there(uid string, changes ...func(*corev1.Pod)) *corev1.Pod {
	usual := []func(*corev1.Pod){labelled(template), of("web")}
	pod := settledPod(uid, append(usual, changes...)...)
	pod.Namespace, pod.Spec.InitContainers = "default", nil
	pod.Spec.Containers = orphan("", nil).Spec.Containers
	return pod
}

// After a failed request, the next reconcile must go on where the last one stopped; otherwise there
// is a Pod too many or too few, or a wrong status.
func TestWhicheverCallFailsTheNextLookEndsWhatWasBegun(t *testing.T) {
	for _, c := range []struct {
		name    string
		objects func() []client.Object
		want    string
	}{
		{"too few Pods, one to adopt and one to release", func() []client.Object {
			lost := func(pod *corev1.Pod) { pod.OwnerReferences = nil }
			return []client.Object{
				newReplicaSet(4), there("a"), there("b", lost),
				there("c", labelled(map[string]string{"app": "debug"})),
			}
		}, "pod-a of web, pod-b of web, pod-c, web- of web, web- of web; 4, 4 labelled, 2 " +
			"ready, conditions []"},
		{"too many Pods", func() []client.Object {
			return []client.Object{
				newReplicaSet(1), there("a"), there("b", unassigned), there("c", unassigned),
			}
		},
			"pod-a of web; 1, 1 labelled, 1 ready, conditions []"},
		{"Pods are missing that were there", func() []client.Object {
			rs := newReplicaSet(3)
			rs.Status.Replicas = 2
			return []client.Object{rs, there("a")}
		}, "pod-a of web, web- of web, web- of web; 3, 3 labelled, 1 ready, conditions []"},
		{"it is gone", func() []client.Object {
			return []client.Object{there("a")}
		}, "pod-a of web; 0, 0 labelled, 0 ready, conditions []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shows := workOn(c.objects).SurvivesEachFailure(t)
			require.Equal(t, c.want, shows)
		})
	}
}

// During a rollout, the old ReplicaSet's Pods count when the new one asks how crowded a node is.
// Those of other owners do not count.
func TestThePodsOfTheSameDeploymentDecideWhichNodeIsCrowded(t *testing.T) {
	set := func(name, deployment string) *appsv1.ReplicaSet {
		rs := newReplicaSet(1)
		rs.Name, rs.UID = name, types.UID(name+"-uid")
		if deployment != "" {
			owner := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: deployment, UID: types.UID(deployment)},
			}
			rs.OwnerReferences = []metav1.OwnerReference{
				*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment")),
			}
		}
		return rs
	}
	on2 := on("n2")
	for _, c := range []struct{ deployment, want string }{
		// two Pods of the Deployment are on n1, and three on n2
		{"d", "pod-a of web, pod-b of web"},
		{"e", "pod-b of web, pod-c of web"}, // two are on n1, and one on n2
		{"", "pod-b of web, pod-c of web"},
	} {
		shows := workOn(func() []client.Object {
			web := set("web", c.deployment)
			web.Spec.Replicas = new(int32(2))
			return []client.Object{
				web, there("a"), there("b"), there("c", on2), set("old", "d"),
				there("x", of("old"), on2), there("y", of("old"), on2),
				set("stranger", "f"), there("p", of("stranger"), on2),
				there("q", of("stranger"), on2), there("r", of("stranger"), on2),
			}
		}).SurvivesEachFailure(t)
		require.Contains(t, shows, c.want, "it belongs to %q", c.deployment)
	}
}
