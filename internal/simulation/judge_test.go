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
		rs.OwnerReferences = refTo(owner)
	}
	h.Create(rs)
	return rs
}

func refTo(d *appsv1.Deployment) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(d,
		appsv1.SchemeGroupVersion.WithKind("Deployment"))}
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

// asks lets the controllers read a ReplicaSet from the server itself.
func (h history) asks(rs *appsv1.ReplicaSet) {
	require.NoError(h.T, h.controllers().Get(h.T.Context(), client.ObjectKeyFromObject(rs),
		&appsv1.ReplicaSet{}))
}

// controllers is the client of some controllers.
func (h history) controllers() client.WithWatch {
	connection, _ := h.Connect("other")
	c, err := client.NewWithWatch(connection, client.Options{Mapper: usersMapper()})
	require.NoError(h.T, err)
	return c
}

// linger makes the deletion of an object take a while: until goes is called.
func linger[T client.Object](h history, object T) {
	Edit(h.World, object, func(object T) {
		object.SetFinalizers(append(object.GetFinalizers(), "example.com/slow"))
	})
}

func goes[T client.Object](h history, object T) {
	Edit(h.World, object, func(object T) {
		object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool {
			return f == "example.com/slow"
		}))
	})
}

func TestAHistoryKnowsWhatHeldAndWhatWasAddedLately(t *testing.T) {
	now := time.Now()
	var h History[string]
	h.Add(now.Add(-3*Memory), "long ago")
	h.Add(now.Add(-2*Memory), "until lately")
	h.Add(now.Add(-Memory/2), "now")
	require.Equal(t, []string{"until lately", "now"}, h.Lately(now))
	require.Equal(t, []string{"now"}, h.Lately(now.Add(Memory/2)))
	require.Equal(t, []string{"now"}, h.Lately(now.Add(Memory)), "the last one holds on")
	require.Equal(t, []string{"now"}, h.Added(now))
	require.Empty(t, h.Added(now.Add(Memory/2)))
	require.Equal(t, []string{"until lately"}, h.Added(now.Add(-3*Memory/2)), "the future doesn't count")
}

// A mishap excuses what breaks from its beginning until a while after its end, and nothing else.
func TestOnlyABentPromiseMayBeBroken(t *testing.T) {
	tooMany := func(h history) {
		rs := h.set("web", 1, nil)
		h.pod("a", rs)
		h.pod("b", rs)
	}
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"while it's bent": {func(h history) {
			h.bend(NeverMore)
			tooMany(h)
		}, nil},
		"while another one is bent": {func(h history) {
			h.bend(NeverFewer)
			tooMany(h)
		}, []Promise{NeverMore}},
		"before it's bent": {func(h history) {
			tooMany(h)
			time.Sleep(time.Second)
			h.bend(NeverMore)
		}, []Promise{NeverMore}},
		"just after it was bent": {func(h history) {
			h.bend(NeverMore)
			h.unbend(NeverMore)
			time.Sleep(Memory / 2)
			tooMany(h)
		}, nil},
		"long after it was bent": {func(h history) {
			h.bend(NeverMore)
			h.unbend(NeverMore)
			time.Sleep(Memory)
			tooMany(h)
		}, []Promise{NeverMore}},
		"while the second of two mishaps goes on": {func(h history) {
			h.bend(NeverMore)
			h.bend(NeverMore)
			h.unbend(NeverMore)
			time.Sleep(Memory)
			tooMany(h)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgePods, c.happens))
		})
	}
}

// Two watches may deliver changes in another order than the server made them.
func TestAJudgeSeesChangesInTheOrderOfTheServer(t *testing.T) {
	version := func(v string) Change {
		return Change{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v}}}
	}
	synctest.Test(t, func(t *testing.T) {
		w := NewDirect(t, nil)
		w.changes = []Change{version("10"), version("9"), version("11")}
		require.Equal(t, []Change{version("9"), version("10"), version("11")}, w.Changes())
	})
}
