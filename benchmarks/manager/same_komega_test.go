package manager

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	theirkomega "sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	"github.com/loopwright/loopwright/manager/client/fake"
	ourkomega "github.com/loopwright/loopwright/manager/envtest/komega"
)

// Ours does not import Gomega, and Gomega takes it all the same.
func TestGomegaTakesOurMatcher(t *testing.T) {
	g := gomega.NewWithT(t)
	var matcher gomegatypes.GomegaMatcher = ourkomega.EqualObject(&corev1.Pod{}, ourkomega.IgnorePaths{"metadata"})
	g.Expect(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}).To(matcher)
	g.Expect(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}).NotTo(gomega.And(matcher, gomega.Not(gomega.BeNil())))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	k := ourkomega.New(fake.NewClientBuilder().WithObjects(pod).Build())
	g.Eventually(k.Get(pod)).Should(gomega.Succeed())
	g.Eventually(k.Object(pod)).Should(gomega.HaveField("ObjectMeta.Name", "web"))
}

// A test that passed with theirs must pass with ours, and one that failed must fail.
func TestEqualObjectSaysTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	paths := []string{"metadata", "ObjectMeta.Name", "metadata.labels", "metadata.labels.a", "spec", "spec.containers", "spec.containers[0]",
		"Spec.Containers[1].Name", "spec.containers[1].image", "spec.nodeName", "Spec.NodeSelector.k", "status.conditions[0].status", "metadata.ownerReferences[0].name"}
	some := func() (chosen []string) {
		for range random.IntN(4) {
			chosen = append(chosen, paths[random.IntN(len(paths))])
		}
		return chosen
	}
	equal := 0
	for i := range 5000 {
		before := komegaPod(random)
		after := before.DeepCopy()
		for range random.IntN(3) {
			komegaChange(random, after)
		}
		ignored, wanted := some(), some()
		var a, b gomegatypes.GomegaMatcher
		// Together, theirs take paths to ignore for some to compare: see TestOnlyOursTakesBothKindsOfPaths.
		if random.IntN(2) == 0 {
			a, b = ourkomega.EqualObject(before, ourkomega.IgnorePaths(ignored)), theirkomega.EqualObject(before, theirkomega.IgnorePaths(ignored))
		} else {
			wanted = wanted[:min(len(wanted), 1)]
			a, b = ourkomega.EqualObject(before, ourkomega.MatchPaths(wanted)), theirkomega.EqualObject(before, theirkomega.MatchPaths(wanted))
		}
		x, err := a.Match(after)
		require.NoError(t, err)
		y, err := b.Match(after)
		require.NoError(t, err)
		require.Equal(t, y, x, "case %d, ignoring %v or comparing %v:\n%s\n%s", i, ignored, wanted, a.FailureMessage(after), b.FailureMessage(after))
		if x {
			equal++
		}
	}
	require.Greater(t, equal, 1000)
	require.Less(t, equal, 4000)
}

func komegaPod(random *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{}
	for range random.IntN(6) {
		komegaChange(random, pod)
	}
	return pod
}

func komegaChange(random *rand.Rand, pod *corev1.Pod) {
	text := fmt.Sprint(random.IntN(2))
	switch random.IntN(8) {
	case 0:
		pod.Name = text
	case 1:
		metav1.SetMetaDataLabel(&pod.ObjectMeta, []string{"a", "b"}[random.IntN(2)], text)
	case 2:
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: text})
	case 3:
		if len(pod.Spec.Containers) > 0 {
			pod.Spec.Containers[random.IntN(len(pod.Spec.Containers))].Image = text
		}
	case 4:
		pod.Spec.NodeName = text
	case 5:
		pod.Spec.NodeSelector = map[string]string{"k": text}
	case 6:
		pod.Status.Conditions = []corev1.PodCondition{{Status: corev1.ConditionStatus(text)}}
	case 7:
		pod.OwnerReferences = []metav1.OwnerReference{{Name: text, Controller: new(text == "1")}}
	}
}

// Two things that theirs documents and does not do. If one of these fails, they have changed it, and the chapter's text must
// say so.
func TestOnlyOursTakesBothKindsOfPaths(t *testing.T) {
	match := func(matcher gomegatypes.GomegaMatcher, actual runtime.Object) bool {
		equal, err := matcher.Match(actual)
		require.NoError(t, err)
		return equal
	}
	labelled := func(value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"example.com/owner": value}}}
	}
	const owner = "metadata.labels[example.com/owner]"
	require.True(t, match(ourkomega.EqualObject(labelled("me"), ourkomega.IgnorePaths{owner}), labelled("you")))
	require.False(t, match(theirkomega.EqualObject(labelled("me"), theirkomega.IgnorePaths{owner}), labelled("you")), "a key with dots is cut apart")

	name, node := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db"}}
	require.False(t, match(ourkomega.EqualObject(name, ourkomega.MatchPaths{"metadata.name", "spec"}), node))
	require.True(t, match(theirkomega.EqualObject(name, theirkomega.MatchPaths{"metadata.name", "spec"}), node), "of several paths, only the last counts")
}
