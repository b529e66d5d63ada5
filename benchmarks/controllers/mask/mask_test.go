package mask

import (
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
	objects := func(hash, minute string) (all []stage.Object, log []stage.Change) {
		owner := []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: "u"}, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		meta := func(name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: "s1-" + hash, Name: name, UID: types.UID(name + hash), Labels: map[string]string{"hash": hash}, OwnerReferences: owner}
		}
		revision := &appsv1.ControllerRevision{ObjectMeta: meta("web-" + hash), Revision: 3}
		job := &batchv1.Job{ObjectMeta: meta("web-" + minute)}
		pod := &corev1.Pod{ObjectMeta: meta("web-" + minute + "-abcde")}
		pod.GenerateName = "web-" + minute + "-"
		return []stage.Object{revision, job, pod}, []stage.Change{{Kind: stage.ControllerRevision, Object: revision}, {Kind: stage.Job, Object: job}, {Kind: stage.Pod, Object: pod}}
	}
	one := state(t)(objects("58b67dcb48", "29454240"))
	require.Empty(t, Compare(one, state(t)(objects("6fc5477467", "29979840"))))
	require.Empty(t, one.Says("ControllerRevision/web-rev3.metadata.labels.hash=rev3"))
	require.Empty(t, one.Says("Pod/web-start1-pod1.metadata.labels.hash=rev3"))
}
