package mask

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
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
