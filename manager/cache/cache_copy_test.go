package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/client"
)

type ownPod struct {
	corev1.Pod
	Extra string
}

type ownPodList struct {
	corev1.PodList
	Items []ownPod
}

// Whoever forgets to generate a type's DeepCopy functions must read why nothing works.
func TestATypeThatCopiesOnlyWhatIsInsideItIsAnError(t *testing.T) {
	object := &ownPod{Extra: "extra"}
	require.ErrorContains(t, (&view{}).writeTo(&ownPod{}, object, false), "DeepCopyObject of a *cache.ownPod makes a *v1.Pod")
	require.ErrorContains(t, (&view{}).fill(&ownPodList{}, []client.Object{object}, false), "DeepCopyObject of a *cache.ownPod makes a *v1.Pod")
	var same ownPod
	require.NoError(t, (&view{}).writeTo(&same, object, true))
	require.Equal(t, "extra", same.Extra)
}
