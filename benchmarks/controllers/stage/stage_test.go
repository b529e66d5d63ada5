package stage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// history is a log that a test writes.
type history struct {
	t   *testing.T
	s   *Stage
	now uint64
}

func newHistory(t *testing.T) *history {
	return &history{t: t, s: &Stage{byUser: map[types.UID]bool{}}}
}

func (h *history) happens(what watch.EventType, object Object) {
	h.now++
	var kind string
	switch object.(type) {
	case *corev1.Pod:
		kind = Pod
	case *appsv1.ReplicaSet:
		kind = ReplicaSet
	case *appsv1.Deployment:
		kind = Deployment
	}
	h.s.log = append(h.s.log, Change{Type: what, Kind: kind, Object: object.DeepCopyObject().(Object), Version: h.now})
}

func (h *history) settled() { h.s.markLocked() }

func ofDeployment(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
		}},
	}}
}

func ofSet(name string, replicas int32, owner *appsv1.Deployment) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	if owner != nil {
		set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(Deployment))}
	}
	return set
}

func ofPod(name string, owner *appsv1.ReplicaSet) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(ReplicaSet))}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Image: Works}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// A controller that makes a Pod too many, or deletes one that is needed, would pass if it makes it good later.
func TestAPodTooManyOrTooFewIsSeenAtItsMoment(t *testing.T) {
	h, set := newHistory(t), ofSet("a", 1, nil)
	h.happens(watch.Added, set)
	h.happens(watch.Added, ofPod("p1", set))
	h.happens(watch.Added, ofPod("p2", set))
	gone := ofPod("p2", set)
	gone.DeletionTimestamp = &metav1.Time{}
	h.happens(watch.Modified, gone)
	require.Len(t, h.s.Judge(false).Broken, 1, "it is made good at once")
	needed := ofPod("p1", set)
	needed.DeletionTimestamp = &metav1.Time{}
	h.happens(watch.Modified, needed)
	judged := h.s.Judge(false)
	require.Len(t, judged.Broken, 2, "the last one was needed")
	require.Equal(t, map[string]int{"ReplicaSet created": 1, "Pod created": 2, "Pod deleted": 2}, judged.Counts)
}

// What is wanted changes while controllers are at work.
func TestAnOlderSpecCountsUntilAllHasSettled(t *testing.T) {
	h := newHistory(t)
	h.happens(watch.Added, ofSet("a", 2, nil))
	h.happens(watch.Added, ofPod("p1", ofSet("a", 2, nil)))
	h.happens(watch.Modified, ofSet("a", 1, nil))
	h.happens(watch.Added, ofPod("p2", ofSet("a", 1, nil)))
	require.Empty(t, h.s.Judge(false).Broken)
	h.settled()
	h.happens(watch.Modified, ofSet("a", 1, nil))
	h.happens(watch.Added, ofPod("p3", ofSet("a", 1, nil)))
	require.Len(t, h.s.Judge(false).Broken, 1)
}

func TestTheSurgeAndTheReadyPodsOfADeploymentAreJudged(t *testing.T) {
	h, d := newHistory(t), ofDeployment(2)
	older, newer := ofSet("a", 2, d), ofSet("b", 1, d)
	for _, object := range []Object{d, older, ofPod("a1", older), ofPod("a2", older), newer, ofPod("b1", newer)} {
		h.happens(watch.Added, object)
	}
	require.Empty(t, h.s.Judge(false).Broken, "two, and one more")
	h.happens(watch.Modified, ofSet("b", 2, d))
	require.Len(t, h.s.Judge(false).Broken, 1, "two more")

	h.happens(watch.Modified, ofSet("a", 0, d))
	for _, name := range []string{"a1", "a2"} {
		gone := ofPod(name, older)
		gone.DeletionTimestamp = &metav1.Time{}
		h.happens(watch.Modified, gone)
	}
	broken := h.s.Judge(false).Broken
	require.Len(t, broken, 2, "two of three may not go")
	require.Contains(t, broken[1], "has 1 ready Pods when the ready Pod a2 is deleted")
}

// A step that is taken for settled too early makes differences where there are none.
func TestWhatIsStillToBeDoneIsOpen(t *testing.T) {
	open := func(change func(set *appsv1.ReplicaSet, pod *corev1.Pod)) []string {
		set := ofSet("a", 1, nil)
		set.Status = appsv1.ReplicaSetStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: new(int32(0))}
		pod := ofPod("p", set)
		pod.Spec.NodeName = Nodes[0]
		change(set, pod)
		return Open([]Object{set, pod}, time.Now())
	}
	require.Empty(t, open(func(*appsv1.ReplicaSet, *corev1.Pod) {}))
	for what, change := range map[string]func(set *appsv1.ReplicaSet, pod *corev1.Pod){
		"a generation": func(set *appsv1.ReplicaSet, _ *corev1.Pod) { set.Generation = 1 },
		"a number":     func(set *appsv1.ReplicaSet, _ *corev1.Pod) { *set.Spec.Replicas = 2 },
		"a status":     func(set *appsv1.ReplicaSet, _ *corev1.Pod) { set.Status.ReadyReplicas = 0 },
		"a Pod to run": func(_ *appsv1.ReplicaSet, pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodPending} },
		"a Pod to end": func(_ *appsv1.ReplicaSet, pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} },
		"an owner":     func(set *appsv1.ReplicaSet, _ *corev1.Pod) { set.UID = "another" },
		"garbage to delete": func(set *appsv1.ReplicaSet, _ *corev1.Pod) {
			set.DeletionTimestamp, set.Finalizers = &metav1.Time{}, []string{"foregroundDeletion"}
		},
	} {
		require.NotEmpty(t, open(change), what)
	}
}

// A Job is over when its Pods are, so a kubelet that goes on with one that has ended would play another scenario.
func TestAPodDoesWhatItsImageSaysOnce(t *testing.T) {
	pod := func(image string) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: image}}}}
		p.Status.Phase = corev1.PodPending
		return p
	}
	for image, want := range map[string]deed{"works:1": run, "breaks:1": runUnready, "completes:1": succeed, "fails:2": fail, "pulls:1": nothing} {
		require.Equal(t, want, duty(pod(image)), image)
	}
	for phase, code := range map[corev1.PodPhase]int32{corev1.PodSucceeded: 0, corev1.PodFailed: 1} {
		p := running(pod("works:1"), "10.0.0.1", true)
		SetEnded(p, phase, code)
		require.Equal(t, nothing, duty(p))
		require.Equal(t, phase, p.Status.Phase)
		require.False(t, ready(p))
		require.Equal(t, code, p.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	}
}

// Nodes and namespaces are in no namespace, and a stage that did not see them would compare nothing.
func TestAnObjectBelongsToItsStage(t *testing.T) {
	for want, object := range map[string]Object{
		"s1-a": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "s1-a", Name: "web"}},
		"s2-a": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "s2-a"}},
		"s3-a": &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s3-a-n1", Labels: map[string]string{stageLabel: "s3-a"}}},
		"":     &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
	} {
		require.Equal(t, want, stageOf(object))
	}
	w := &World{alive: map[string]bool{"s1-a-n1": true, "s1-a-n2": false}}
	require.Equal(t, []bool{false, true, false}, []bool{w.isSilent("s1-a-n1"), w.isSilent("s1-a-n2"), w.isSilent("node-1")})
}
