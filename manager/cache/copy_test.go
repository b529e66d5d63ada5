package cache

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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
	list := &ownPodList{}
	require.ErrorContains(t, (&view{}).fill(list, []client.Object{object}, false), "DeepCopyObject of a *cache.ownPod makes a *v1.Pod")
	require.Nil(t, list.Items, "the list is as it was")
	var same ownPod
	require.NoError(t, (&view{}).writeTo(&same, object, true))
	require.Equal(t, "extra", same.Extra)
}

type copied struct{ corev1.Pod }

func (c *copied) DeepCopyInto(to *copied) { c.Pod.DeepCopyInto(&to.Pod) }

type copiedWithError struct{ corev1.Pod }

func (c *copiedWithError) DeepCopyInto(*copiedWithError) error { return nil }

type copiedTwice struct{ corev1.Pod }

func (c *copiedTwice) DeepCopyInto(_, _ *copiedTwice) {}

type copiedNowhere struct{ corev1.Pod }

func (c *copiedNowhere) DeepCopyInto() {}

type ownCopiedPod struct{ ownPod }

func (o *ownCopiedPod) DeepCopyObject() runtime.Object {
	return &ownCopiedPod{ownPod{*o.DeepCopy(), o.Extra}}
}

// DeepCopyObject is all that a cluster's object must have.
func TestATypeWithoutDeepCopyIntoIsCopiedAllTheSame(t *testing.T) {
	object, read := &ownCopiedPod{ownPod{Extra: "extra"}}, &ownCopiedPod{}
	object.Labels = map[string]string{"a": "b"}
	require.NoError(t, (&view{}).writeTo(read, object, false))
	require.Equal(t, object, read)
	read.Labels["a"] = "changed"
	require.Equal(t, "b", object.Labels["a"], "what the store has is not the reader's")
}

// A method that happens to have the name does something else.
func TestOnlyAMethodThatCopiesTheWholeObjectIsTaken(t *testing.T) {
	for _, c := range []struct {
		object any
		want   bool
	}{
		{&corev1.Pod{}, true}, {&copied{}, true}, {&ownPod{}, false}, {&copiedWithError{}, false}, {&copiedTwice{}, false}, {&copiedNowhere{}, false},
		{&struct{}{}, false},
	} {
		for range 2 { // the second answer is remembered
			require.Equal(t, c.want, copierOf(reflect.TypeOf(c.object)).IsValid(), "%T", c.object)
		}
	}
}

// A list has one Go type of items, and whatever else came into a store is no item.
func TestAnObjectOfAnotherTypeIsNotWrittenToAReader(t *testing.T) {
	pods, secret := &view{}, []client.Object{&corev1.Secret{}}
	for _, zeroCopy := range []bool{true, false} {
		require.ErrorContains(t, pods.writeTo(&corev1.Pod{}, secret[0], zeroCopy), "as *v1.Secret and cannot write it to a *v1.Pod")
		require.Error(t, pods.writeTo(&unstructured.Unstructured{}, secret[0], zeroCopy))
		require.Error(t, pods.fill(&corev1.PodList{}, secret, zeroCopy))
		require.NoError(t, pods.fill(&corev1.PodList{}, nil, zeroCopy))
	}
}

// A list of somebody else may keep its items in another way, or keep none.
func TestOnlyASliceOfObjectsIsFilledAsOne(t *testing.T) {
	for _, list := range []client.ObjectList{
		&struct{ client.ObjectList }{},
		&struct {
			client.ObjectList
			Items []*corev1.Pod
		}{},
		&struct {
			client.ObjectList
			Items [2]corev1.Pod
		}{},
		&struct {
			client.ObjectList
			Items map[string]corev1.Pod
		}{},
		&struct {
			client.ObjectList
			Items string
		}{},
	} {
		require.Nil(t, shapeOf(list).object, "%T", list)
		require.False(t, shapeOf(list).holds(nil), "%T", list)
	}
	require.Equal(t, reflect.TypeFor[*corev1.Pod](), shapeOf(&corev1.PodList{}).object)
}
