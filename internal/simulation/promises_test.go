package simulation

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
)

// A judge that sees nothing would let every controller pass. So each of these histories is written by
// hand: in some of them a promise is broken, and in those beside them it looks so, and isn't.

// history is a World in which the test does what controllers would do.
type history struct{ *World }

// judged returns the promises that a history breaks.
func judged(t *testing.T, judge func(*World), happens func(h history)) (broken []Promise) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := NewDirect(t, nil)
		w.NoteQuestions()
		w.Watch(&corev1.PodList{}, &appsv1.ReplicaSetList{}, &appsv1.DeploymentList{},
			&corev1.ConfigMapList{})
		synctest.Wait() // until the watches have begun
		happens(history{w})
		synctest.Wait()
		judge(w)
		w.End()
		for _, b := range w.broken {
			broken = append(broken, b.Promise)
		}
	})
	return slices.Compact(broken)
}

var podLabels = map[string]string{"app": "web"}

func (h history) set(name string, replicas int32, owner *appsv1.Deployment) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: podLabels},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: podLabels},
			Template: template(name),
		},
	}
	if owner != nil {
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner,
			appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	}
	h.Create(rs)
	return rs
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func (h history) pod(name string, owner *appsv1.ReplicaSet) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: podLabels},
		Spec:       template("web").Spec,
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{ownedBy(owner)}
	}
	h.Create(pod)
	return pod
}

func ownedBy(rs *appsv1.ReplicaSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
}

func (h history) delete(object client.Object) {
	require.NoError(h.T, h.Live.Delete(h.T.Context(), object))
}

func (h history) scale(rs *appsv1.ReplicaSet, replicas int32) {
	Edit(h.World, rs, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
}

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
		"a Pod too many while it's bent": {func(h history) {
			rs := h.set("web", 1, nil)
			h.bend(NeverMore)
			h.pod("a", rs)
			h.pod("b", rs)
		}, nil},
		"a Pod too many after it was bent": {func(h history) {
			rs := h.set("web", 1, nil)
			h.bend(NeverMore)
			h.unbend(NeverMore)
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
			h.deeds.asked.Add(time.Now(), struct{}{})
			Edit(h.World, pod, func(pod *corev1.Pod) { pod.Labels = nil })
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
			h.delete(pod)
		}, nil},
		"an adoption without a question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, []Promise{NoStranger}},
		"an adoption after a question": {func(h history) {
			rs, pod := h.set("web", 1, nil), h.pod("a", nil)
			h.deeds.asked.Add(time.Now(), struct{}{})
			Edit(h.World, pod, func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{ownedBy(rs)}
			})
		}, nil},
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

// deployment wants replicas Pods, one more and one less allowed.
func (h history) deployment(replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: podLabels},
			Template: template("new"),
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(1)),
				},
			},
		},
	}
	h.Create(d)
	return d
}

func (h history) available(rs *appsv1.ReplicaSet, pods int32) {
	EditStatus(h.World, rs, func(rs *appsv1.ReplicaSet) {
		rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = pods, pods, pods
	})
}

func TestTheJudgeOfRolloutsSeesEachBrokenPromise(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"the surge": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.set("new", 1, d)
		}, nil},
		"more than the surge": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.set("new", 2, d)
		}, []Promise{NeverMore}},
		"more than the surge, which a user has done": {func(h history) {
			d := h.deployment(3)
			rs := h.set("old", 3, d)
			h.scale(rs, 5)
			h.UserScaled(rs)
		}, nil},
		"as few as are allowed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.scale(rs, 2)
		}, nil},
		"too few": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.scale(rs, 1)
		}, []Promise{NeverFewer}},
		"fewer of those that aren't available": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 1)
			h.scale(rs, 1)
		}, nil},
		"too few because others failed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 2)
			h.UserMoves(1, 0)
			h.scale(rs, 1)
		}, nil},
		"a second ReplicaSet for one template": {func(h history) {
			d := h.deployment(3)
			rs := h.set("new", 0, d)
			again := rs.DeepCopy()
			again.ObjectMeta = metav1.ObjectMeta{
				Namespace: "default", Name: "again", OwnerReferences: rs.OwnerReferences,
			}
			h.Create(again)
		}, []Promise{NotTwice}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgeSizes, c.happens))
		})
	}
}

func (h history) thing(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, OwnerReferences: owners,
	}}
	h.Create(object)
	return object
}

func owner(object client.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: object.GetName(), UID: object.GetUID(),
		BlockOwnerDeletion: new(true),
	}
}

func TestTheJudgeOfGarbageSeesEachBrokenPromise(t *testing.T) {
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "no", UID: "no"}
	foreground := func(h history, object client.Object) {
		h.UserDeletes(object.GetUID(), metav1.DeletePropagationForeground)
		require.NoError(h.T, h.Live.Delete(h.T.Context(), object,
			client.PropagationPolicy(metav1.DeletePropagationForeground)))
	}
	ends := func(h history, object *corev1.ConfigMap) {
		Edit(h.World, object, func(object *corev1.ConfigMap) { object.Finalizers = nil })
	}
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"an object without a living owner": {func(h history) {
			h.delete(h.thing("a", absent))
		}, nil},
		"an object with a living owner": {func(h history) {
			h.delete(h.thing("a", absent, owner(h.thing("b"))))
		}, []Promise{NoStranger}},
		"an object without an owner": {func(h history) {
			h.delete(h.thing("a"))
		}, []Promise{NoStranger}},
		"an object without an owner, by a user": {func(h history) {
			object := h.thing("a")
			h.UserDeletes(object.UID, metav1.DeletePropagationBackground)
			h.delete(object)
		}, nil},
		"an owner before its dependent": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, []Promise{NoStranger}},
		"an owner before a dependent that's new": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			foreground(h, object)
			ends(h, object)
		}, nil},
		"an owner after its dependent": {func(h history) {
			object := h.thing("a")
			dependent := h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			h.delete(dependent)
			ends(h, object)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgeGarbage, c.happens))
		})
	}
}

func TestTheJudgeSeesASpecThatNobodyActedOn(t *testing.T) {
	for name, c := range map[string]struct {
		judge   func(*World)
		happens func(h history)
		breaks  []Promise
	}{
		"all Pods, and the status": {(*World).ReplicaSetsAreDone, func(h history) {
			rs := h.set("web", 1, nil)
			h.pod("a", rs)
			EditStatus(h.World, rs, func(rs *appsv1.ReplicaSet) {
				rs.Status.ObservedGeneration = rs.Generation
			})
		}, nil},
		"a status of an old spec": {(*World).ReplicaSetsAreDone, func(h history) {
			h.set("web", 0, nil)
		}, []Promise{ActedOn}},
		"a Pod that's missing": {(*World).ReplicaSetsAreDone, func(h history) {
			rs := h.set("web", 1, nil)
			EditStatus(h.World, rs, func(rs *appsv1.ReplicaSet) {
				rs.Status.ObservedGeneration = rs.Generation
			})
		}, []Promise{ActedOn}},
		"a rollout that has ended": {(*World).DeploymentsAreDone, func(h history) {
			d := h.deployment(2)
			h.set("new", 2, d)
			EditStatus(h.World, d, func(d *appsv1.Deployment) {
				d.Status.ObservedGeneration = d.Generation
			})
		}, nil},
		"a rollout that has stopped halfway": {(*World).DeploymentsAreDone, func(h history) {
			d := h.deployment(2)
			h.set("new", 2, d)
			h.set("old", 1, d)
			EditStatus(h.World, d, func(d *appsv1.Deployment) {
				d.Status.ObservedGeneration = d.Generation
			})
		}, []Promise{ActedOn}},
		"a Deployment whose status is old": {(*World).DeploymentsAreDone, func(h history) {
			h.set("new", 2, h.deployment(2))
		}, []Promise{ActedOn}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, c.judge, c.happens))
		})
	}
}

// What happened before and what happens in the end is known, so a write in the end is one too many.
func TestTheJudgeSeesAWriteAfterTheEnd(t *testing.T) {
	for _, writes := range []bool{false, true} {
		broken := judged(t, func(w *World) {
			w.restFor = time.Minute
			connection, _ := w.Connect("other")
			controllers, err := client.New(connection, client.Options{Mapper: usersMapper()})
			require.NoError(t, err)
			if writes {
				w.Go(func() {
					time.Sleep(30 * time.Second)
					err := controllers.Create(w.T.Context(), &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"},
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			w.nothingIsWritten()
		}, func(history) {})
		require.Equal(t, writes, slices.Contains(broken, Quiet))
	}
}

func TestADayWithAnotherEndIsBroken(t *testing.T) {
	calm, wild := ending{state: "3 Pods"}, ending{state: "2 Pods"}
	require.Equal(t, SameEnd, verdict(calm, wild)[0].Promise)
	require.Empty(t, verdict(calm, ending{state: "3 Pods"}))
	calm.broken = []Broken{{Promise: NeverMore}}
	require.Equal(t, NeverMore, verdict(calm, wild)[0].Promise,
		"what breaks without a mishap comes first")
	wild.broken = []Broken{{Promise: Mended}}
	require.Equal(t, slices.Concat(calm.broken, wild.broken), verdict(calm, wild),
		"if an end is wrong, that it's another one says nothing more")
}
