package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

// byValue is an object that is no pointer, which is odd and allowed.
type byValue struct{ *corev1.Pod }

func (b byValue) DeepCopyObject() runtime.Object { return b }

// A handler that does not notice a nil pointer in an interface panics, and the process ends.
func TestANilObjectIsNoticedWhateverItsType(t *testing.T) {
	var pod *corev1.Pod
	var partial *metav1.PartialObjectMetadata
	for _, obj := range []client.Object{nil, pod, partial} {
		require.True(t, event.IsNil(obj), "%T", obj)
		require.Empty(t, event.KindOf(obj), "%T", obj)
	}
	for _, obj := range []client.Object{&corev1.Pod{}, &metav1.PartialObjectMetadata{}, byValue{&corev1.Pod{}}} {
		require.False(t, event.IsNil(obj), "%T", obj)
	}
}

// A reason that does not say "Pod" leaves one guessing among all objects of that name.
func TestTheKindOfAnObjectIsKnownInEachOfItsForms(t *testing.T) {
	loose := &unstructured.Unstructured{}
	loose.SetKind("Cactus")
	for _, c := range []struct {
		obj  client.Object
		kind string
	}{
		{&corev1.Pod{}, "Pod"},
		{loose, "Cactus"},
		{&unstructured.Unstructured{}, ""},
		{&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Deployment"}}, "Deployment"},
		{byValue{&corev1.Pod{}}, "byValue"},
	} {
		require.Equal(t, c.kind, event.KindOf(c.obj), "%T", c.obj)
	}
}
