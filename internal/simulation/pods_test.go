package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheJudgeOfPodsSeesEachBrokenPromise(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"a Pod too many": {func(h history) {
			rs := h.set("web", 1, nil)
			h.pod("a", rs)
			h.pod("b", rs)
		}, []Promise{NeverMore}},
		"as many Pods as were allowed a moment ago": {func(h history) {
			rs := h.set("web", 2, nil)
			h.scale(rs, 1)
			h.pod("a", rs)
			h.pod("b", rs)
		}, nil},
		"as many Pods as were allowed long ago": {func(h history) {
			rs := h.set("web", 2, nil)
			h.scale(rs, 1)
			time.Sleep(Memory)
			h.pod("a", rs)
			h.pod("b", rs)
		}, []Promise{NeverMore}},
		"a Pod too few": {func(h history) {
			h.delete(h.pod("a", h.set("web", 1, nil)))
		}, []Promise{NeverFewer}},
		"a Pod that's over": {func(h history) {
			rs := h.set("web", 2, nil)
			h.pod("a", rs)
			pod := h.pod("b", rs)
			h.scale(rs, 1)
			h.delete(pod)
		}, nil},
		"a Pod that a user deletes": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			h.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
			h.delete(pod)
		}, nil},
		"a Pod without an owner": {func(h history) {
			h.delete(h.pod("a", nil))
		}, []Promise{NoStranger}},
		"a Pod of another kind": {func(h history) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "a", Labels: podLabels,
					OwnerReferences: []metav1.OwnerReference{{
						APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db",
						Controller: new(true),
					}},
				},
				Spec: template("web").Spec,
			}
			h.Create(pod)
			h.delete(pod)
		}, []Promise{NoStranger}},
		"a Pod that was relabelled long ago": {func(h history) {
			pod := h.pod("a", h.set("web", 0, nil))
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = nil })
			time.Sleep(Memory)
			h.delete(pod)
		}, []Promise{NeverMore, NoStranger}},
		"a Pod that was relabelled just before it was adopted": {func(h history) {
			rs, pod := h.set("web", 0, nil), h.pod("a", nil)
			h.asks(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = nil })
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
			h.delete(pod)
		}, nil},
		"a Pod in place of one that a user deleted": {func(h history) {
			rs := h.set("web", 1, nil)
			pod := h.pod("a", rs)
			h.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
			h.delete(pod)
			h.pod("b", rs)
		}, nil},
		"a Pod in place of one that ends": {func(h history) {
			rs := h.set("web", 1, nil)
			pod := h.pod("a", rs)
			linger(h, pod)
			h.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
			h.delete(pod)
			h.pod("b", rs)
		}, nil},
		"a Pod in place of one that failed, and of one that succeeded": {func(h history) {
			rs := h.set("web", 2, nil)
			for name, phase := range map[string]corev1.PodPhase{
				"a": corev1.PodFailed, "b": corev1.PodSucceeded,
			} {
				EditStatus(h.World, h.pod(name, rs), func(pod *corev1.Pod) { pod.Status.Phase = phase })
			}
			h.pod("c", rs)
			h.pod("d", rs)
		}, nil},
		"a Pod in place of one that a user relabelled": {func(h history) {
			rs := h.set("web", 1, nil)
			Edit(h.World, h.pod("a", rs), func(pod *corev1.Pod) { pod.Labels = nil })
			h.pod("b", rs)
		}, nil},
		"a Pod in place of one that a user relabels back just now": {func(h history) {
			rs := h.set("web", 1, nil)
			pod := h.pod("a", rs)
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = nil })
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = podLabels })
			h.pod("b", rs)
		}, nil},
		"a Pod beside one that was adopted": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.asks(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
			h.pod("b", rs)
		}, []Promise{NeverMore}},
		"an adoption of one too many, which is deleted": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.pod("b", rs)
			h.asks(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
			h.delete(pod)
		}, nil},
		"a Pod too few that ends slowly": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			linger(h, pod)
			h.delete(pod)
		}, []Promise{NeverFewer}},
		"the last Pod, just after a user deleted the other": {func(h history) {
			rs := h.set("web", 2, nil)
			one, other := h.pod("a", rs), h.pod("b", rs)
			h.scale(rs, 1)
			h.UserDeletes(one.UID, metav1.DeletePropagationBackground)
			h.delete(one)
			h.delete(other)
		}, nil},
		"a Pod too few long after a user deleted another": {func(h history) {
			rs := h.set("web", 1, nil)
			one, other := h.pod("a", rs), h.pod("b", nil)
			h.UserDeletes(one.UID, metav1.DeletePropagationBackground)
			h.delete(one)
			h.delete(h.pod("c", rs))
			h.UserDeletes(other.UID, metav1.DeletePropagationBackground)
			time.Sleep(Memory)
			h.delete(h.pod("d", rs))
		}, []Promise{NeverFewer}},
		"a Pod without an owner, by a user": {func(h history) {
			pod := h.pod("a", nil)
			h.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
			h.delete(pod)
		}, nil},
		"a Pod without an owner, slowly": {func(h history) {
			pod := h.pod("a", nil)
			linger(h, pod)
			h.delete(pod)
		}, []Promise{NoStranger}},
		"a Pod that was released a moment ago": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
			h.delete(pod)
		}, []Promise{StaysReleased}},
		"a Pod that was released long ago": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
			time.Sleep(Memory)
			h.delete(pod)
		}, []Promise{NoStranger}},
		"a Pod that's released while it ends": {func(h history) {
			rs := h.set("web", 1, nil)
			pod := h.pod("a", rs)
			linger(h, pod)
			h.scale(rs, 0)
			h.delete(pod)
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
			goes(h, pod)
		}, nil},
		"a Pod that failed after it was relabelled long ago": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = nil })
			EditStatus(h.World, pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
			time.Sleep(Memory)
			h.delete(pod)
		}, []Promise{NoStranger}},
		"an adoption without a question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"an adoption after a question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.asks(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, nil},
		"an adoption long after a question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.asks(rs)
			time.Sleep(Memory)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"an adoption after a list, which a cache may answer": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			require.NoError(h.T, h.controllers().List(h.T.Context(), &appsv1.ReplicaSetList{}))
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"an adoption after a user's question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.Read(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"a Pod that's taken by the next ReplicaSet of its owner's name": {func(h history) {
			old := h.set("web", 1, nil)
			pod := h.pod("a", old)
			h.delete(old)
			rs := h.set("web", 1, nil)
			h.asks(rs)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"a Pod that's taken from its owner": {func(h history) {
			pod := h.pod("a", h.set("web", 1, nil))
			other := h.set("other", 1, nil)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(other)}
			})
		}, []Promise{NoStranger}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgePods, c.happens))
		})
	}
}

func TestTheJudgeSeesAReplicaSetThatIsNotDone(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(h history) // to a ReplicaSet that wants one Pod
		breaks  []Promise
	}{
		"its Pod, and the status": {func(h history) { h.pod("a", h.observed("web", 1)) }, nil},
		"a status of an old spec": {func(h history) { h.set("web", 0, nil) }, []Promise{ActedOn}},
		"a Pod that's missing":    {func(h history) { h.observed("web", 1) }, []Promise{ActedOn}},
		"a Pod too many": {func(h history) {
			rs := h.observed("web", 1)
			h.pod("a", rs)
			h.pod("b", rs)
		}, []Promise{ActedOn}},
		"a Pod that failed in place of one that serves": {func(h history) {
			EditStatus(h.World, h.pod("a", h.observed("web", 1)),
				func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		}, []Promise{ActedOn}},
		"a Pod of another ReplicaSet": {func(h history) {
			h.observed("web", 1)
			h.pod("a", h.observed("other", 1))
		}, []Promise{ActedOn}},
		"a Pod that the selector doesn't match": {func(h history) {
			Edit(h.World, h.pod("a", h.observed("web", 1)), func(pod *corev1.Pod) { pod.Labels = nil })
		}, []Promise{ActedOn}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).ReplicaSetsAreDone, c.happens))
		})
	}
}

// observed makes a ReplicaSet whose status is of its spec.
func (h history) observed(name string, replicas int32) *appsv1.ReplicaSet {
	rs := h.set(name, replicas, nil)
	EditStatus(h.World, rs, func(rs *appsv1.ReplicaSet) {
		rs.Status.ObservedGeneration = rs.Generation
	})
	return rs
}
