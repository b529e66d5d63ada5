package mask

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// run is what a namespace holds after one run: a Deployment's ReplicaSet and its Pods. All that a server makes up is new
// in each run.
func run(namespace, hash string, suffixes []string, ready ...bool) ([]stage.Object, []stage.Change) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + namespace + name), ResourceVersion: hash,
			Labels: map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: hash}, CreationTimestamp: metav1.Now()}
	}
	set := &appsv1.ReplicaSet{ObjectMeta: meta("web-" + hash)}
	set.Spec.Replicas = new(int32(len(suffixes)))
	objects := []stage.Object{set}
	for i, suffix := range suffixes {
		pod := &corev1.Pod{ObjectMeta: meta(set.Name + "-" + suffix)}
		pod.GenerateName = set.Name + "-"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		pod.Status.PodIP = "10.0.0." + string(rune('1'+i))
		if ready[i] {
			pod.Status.Phase = corev1.PodRunning
		}
		objects = append(objects, pod)
	}
	var log []stage.Change
	for _, object := range objects {
		kind := stage.Pod
		if object == stage.Object(set) {
			kind = stage.ReplicaSet
		}
		log = append(log, stage.Change{Kind: kind, Object: object})
	}
	return objects, log
}

func state(t *testing.T) func(objects []stage.Object, log []stage.Change) State {
	return func(objects []stage.Object, log []stage.Change) State {
		t.Helper()
		s, err := Of(objects, log, true)
		require.NoError(t, err)
		return s
	}
}

// If what is new in each run were a difference, each scenario would differ.
func TestRunsThatDifferInWhatIsMadeUpAreTheSame(t *testing.T) {
	one := state(t)(run("s1-a", "6fc5477467", []string{"abcde", "zzzzz", "mmmmm"}, true, false, true))
	other := state(t)(run("s1-b", "58b67dcb48", []string{"qqqqq", "bbbbb", "ccccc"}, false, true, true))
	require.Empty(t, Compare(one, other))
}

// If a real difference got lost in the mask, the comparison would prove nothing.
func TestWhatDiffersIsFoundAndNamed(t *testing.T) {
	one := state(t)(run("s1-a", "6fc5477467", []string{"abcde", "zzzzz"}, true, true))
	unready := state(t)(run("s1-b", "58b67dcb48", []string{"qqqqq", "bbbbb"}, false, true))
	differ := Compare(one, unready)
	require.Len(t, differ, 1)
	require.Equal(t, "Pod.status.phase", differ[0].Field())
	require.Equal(t, []string{"Running", ""}, []string{differ[0].Theirs, differ[0].Ours})

	objects, log := run("s1-b", "58b67dcb48", []string{"qqqqq", "bbbbb"}, true, true)
	objects[1].SetOwnerReferences(nil)
	released := Compare(one, state(t)(objects, log))
	require.NotEmpty(t, released)
	for _, difference := range released {
		require.Contains(t, difference.Field(), "Pod.metadata.ownerReferences[]")
	}

	fewer := Compare(one, state(t)(objects[:2], log))
	require.Contains(t, fewer, Difference{Path: "Pod/web-rs1-pod2", Theirs: "there"})
}

// The API server cuts a long name off before it adds five characters. Two Pods would differ in a name that nobody chose.
func TestANameThatWasCutOffIsMaskedToo(t *testing.T) {
	long := strings.Repeat("w", 70)
	pod := func(name string) ([]stage.Object, []stage.Change) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "s1", Name: name, GenerateName: long + "-"}}
		return []stage.Object{pod}, []stage.Change{{Kind: stage.Pod, Object: pod}}
	}
	require.Empty(t, Compare(state(t)(pod(long[:58]+"abcde")), state(t)(pod(long[:58]+"zzzzz"))))
}

// A step that says nothing of what it leads to would be over before it has begun.
func TestAStateSaysWhatIsWantedOrWhatItHas(t *testing.T) {
	s := State{"Pod/a.status.phase": "Running", "Pod/b.status.phase": "Pending", "PodDisruptionBudget/a.x": "1"}
	for _, c := range []struct{ want, has string }{
		{"Pod/a.status.phase=Running", ""}, {"Pod/b.status.phase=Running", "Pending"}, {"Pod/c.status.phase=Running", "(none)"}, {"Pod/c.status.phase=(none)", ""},
		{"Pod=2", ""}, {"Pod=3", "2"}, {"Job=0", ""},
	} {
		require.Equal(t, c.has, s.Says(c.want), c.want)
	}
}

// Hashes of templates and the minutes of starts are new in each run, and the names with them.
func TestRevisionsAndStartsAreNumbered(t *testing.T) {
	objects := func(hash string, minutes ...string) (all []stage.Object, log []stage.Change) {
		owner := []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: "u"}, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		meta := func(name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: "s1-" + hash, Name: name, UID: types.UID(name + hash), Labels: map[string]string{"hash": hash}, OwnerReferences: owner}
		}
		add := func(kind string, object stage.Object) {
			all, log = append(all, object), append(log, stage.Change{Kind: kind, Object: object})
		}
		add(stage.ControllerRevision, &appsv1.ControllerRevision{ObjectMeta: meta("web-" + hash), Revision: 3})
		for _, minute := range minutes {
			add(stage.Job, &batchv1.Job{ObjectMeta: meta("web-" + minute), Spec: batchv1.JobSpec{Suspend: new(minute == slices.Min(minutes))}})
			pod := &corev1.Pod{ObjectMeta: meta("web-" + minute + "-abcde")}
			pod.GenerateName = "web-" + minute + "-"
			add(stage.Pod, pod)
		}
		add(stage.Job, &batchv1.Job{ObjectMeta: meta("web-hand")})
		member := &corev1.Pod{ObjectMeta: meta("web-0")}
		member.GenerateName = "web-"
		add(stage.Pod, member)
		gone := &appsv1.ControllerRevision{ObjectMeta: meta("web-gone" + hash)}
		all[0].GetLabels()["before"] = "gone" + hash
		return all, append(append(log, stage.Change{Kind: stage.ControllerRevision, Object: gone}), log...)
	}
	one := state(t)(objects("58b67dcb48", "29454241", "29454240"))
	require.Empty(t, Compare(one, state(t)(objects("6fc5477467", "29979842", "29979840"))))
	for _, want := range []string{"ControllerRevision/web-rev3.metadata.labels.hash=rev3", "ControllerRevision/web-rev3.metadata.labels.before=revX", "Job/web-start1.spec.suspend=true", "Job/web-start1.metadata.labels.hash=rev3",
		"Pod/web-start1-pod1.metadata.generateName=web-start1-", "Pod/web-start2-pod1.metadata.generateName=web-start2-", "Job/web-hand.metadata.labels.hash=rev3", "Pod/web-0.metadata.generateName=web-"} {
		require.Empty(t, one.Says(want), want)
	}
	// The first start is the older one, whichever was seen first.
	require.Equal(t, one, state(t)(objects("58b67dcb48", "29454240", "29454241")))
}

// What is new in each cluster, or has no order, is no difference.
func TestCertificatesVersionsAndTheOrderOfTaintsAreNoDifference(t *testing.T) {
	of := func(certificate, version string, taints ...corev1.Taint) State {
		root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "s1", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": certificate}}
		cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "s1", Name: "web"}}
		cron.Status.Active = []corev1.ObjectReference{{Name: "web-1", ResourceVersion: version}}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s1-n1"}, Spec: corev1.NodeSpec{Taints: taints}}
		return state(t)([]stage.Object{root, cron, node}, []stage.Change{{Kind: stage.ConfigMap, Object: root}, {Kind: stage.CronJob, Object: cron}, {Kind: stage.Node, Object: node}})
	}
	a, b := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoExecute}
	require.Empty(t, Compare(of("x", "1", a, b), of("y", "2", b, a)))
	require.NotEmpty(t, Compare(of("x", "1", a, b), of("x", "1", a)))
	require.NotEmpty(t, Compare(of("x", "1"), of("x", "")), "one has no version at all")
}
