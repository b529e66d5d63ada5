package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type ownPod struct {
	corev1.Pod
	Extra string
}

// The author of a type without DeepCopy functions must read why nothing works.
func TestATypeThatCopiesOnlyWhatIsInsideItIsAnError(t *testing.T) {
	object := &ownPod{Extra: "extra"}
	require.ErrorContains(t, new(gvkInformer).writeTo(&ownPod{}, object, false), "as *v1.Pod and cannot write it to a *cache.ownPod")
	var same ownPod
	require.NoError(t, new(gvkInformer).writeTo(&same, object, true))
	require.Equal(t, "extra", same.Extra)
}

type ownCopiedPod struct{ ownPod }

func (o *ownCopiedPod) DeepCopyObject() runtime.Object {
	return &ownCopiedPod{ownPod{*o.DeepCopy(), o.Extra}}
}

// DeepCopyObject is all that a cluster's object must have.
func TestATypeWithoutDeepCopyIntoIsCopiedAllTheSame(t *testing.T) {
	object, read := &ownCopiedPod{ownPod{Extra: "extra"}}, &ownCopiedPod{}
	object.Labels = map[string]string{"a": "b"}
	require.NoError(t, new(gvkInformer).writeTo(read, object, false))
	require.Equal(t, object, read)
	read.Labels["a"] = "changed"
	require.Equal(t, "b", object.Labels["a"], "what the store has is not the reader's")
}

// A list has one Go type of items, and a reader's object another one than the store.
func TestAnObjectOfAnotherTypeIsNotWrittenToAReader(t *testing.T) {
	pods, secret := new(gvkInformer), &corev1.Secret{}
	for _, zeroCopy := range []bool{true, false} {
		require.ErrorContains(t, pods.writeTo(&corev1.Pod{}, secret, zeroCopy), "as *v1.Secret and cannot write it to a *v1.Pod")
		require.Error(t, pods.writeTo(&unstructured.Unstructured{}, secret, zeroCopy))
	}
}
