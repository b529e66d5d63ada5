package cache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// An object of another type would be yielded as nil, and a controller would take that for an object.
func TestAWalkEndsAtAnObjectOfAnotherType(t *testing.T) {
	pod, secret := &corev1.Pod{}, &corev1.Secret{}
	var seen []*corev1.Pod
	yield := func(pod *corev1.Pod, err error) bool {
		require.NoError(t, err)
		seen = append(seen, pod)
		return true
	}
	going, wrong := walk(slices.Values([]client.Object{pod, secret, pod}), yield)
	require.False(t, going)
	require.Same(t, secret, wrong)
	require.Equal(t, []*corev1.Pod{pod}, seen)

	going, wrong = walk(slices.Values([]client.Object{pod, pod}), yield)
	require.True(t, going)
	require.Nil(t, wrong)
	going, wrong = walk(slices.Values([]client.Object{pod, secret}), func(*corev1.Pod, error) bool { return false })
	require.False(t, going, "the reader has had enough, and the next informer must not be asked")
	require.Nil(t, wrong)
}

// A mistake in the options must be seen when the cache is made.
func TestACacheWithSettingsThatCannotBeIsNotMade(t *testing.T) {
	_, err := New(&rest.Config{Host: "http://server.example"}, Options{Scheme: scheme.Scheme, Mapper: podsAndNodes(),
		ByObject: map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{"shop": {}}}}})
	require.ErrorContains(t, err, "Node")
}
