package leaderelection

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A store that accepts an old token has no protection from a leader that was suspended.
func TestAnOldTokenIsRefused(t *testing.T) {
	newest := Fence{Identity: "b", Transitions: 4}
	var fenced *FencedError
	require.ErrorAs(t, Fence{Identity: "a", Transitions: 3}.Check(newest), &fenced)
	require.Equal(t, newest, fenced.Newest)
	require.ErrorAs(t, Fence{Identity: "a", Transitions: 4}.Check(newest), &fenced, "the same count by another name: somebody has tampered with the Lease, and the first one wins")
	require.NoError(t, newest.Check(newest))
	require.NoError(t, Fence{Identity: "a", Transitions: 5}.Check(newest))
	require.NoError(t, Fence{Identity: "a"}.Check(Fence{}), "a store that has seen none accepts every token")
}

func TestAnObjectKeepsTheNewestToken(t *testing.T) {
	object := &metav1.ObjectMeta{Namespace: "shop", Name: "prices", Annotations: map[string]string{"other": "stays"}}
	shared := object.Annotations
	require.NoError(t, Fence{"a", 3}.Stamp(object))
	require.Equal(t, map[string]string{"other": "stays", FenceAnnotation: "3/a"}, object.Annotations)
	require.NotContains(t, shared, FenceAnnotation, "the map may belong to a cache")
	require.NoError(t, Fence{"b", 4}.Stamp(object))
	require.EqualError(t, Fence{"a", 3}.Stamp(object), "writing shop/prices: the leader a of term 3 was replaced: b of term 4 has written")
	require.Equal(t, "4/b", object.Annotations[FenceAnnotation])
	object.Annotations[FenceAnnotation] = "nonsense"
	require.ErrorContains(t, Fence{"b", 4}.Stamp(object), `"nonsense" is no fencing token`)
}

func TestATokenIsReadAsItWasWritten(t *testing.T) {
	for _, fence := range []Fence{{"a", 0}, {"host_1/2", 17}} {
		read, err := ParseFence(fence.String())
		require.NoError(t, err)
		require.Equal(t, fence, read)
	}
	for _, text := range []string{"", "3", "3/", "x/a", "/a"} {
		_, err := ParseFence(text)
		require.ErrorContains(t, err, "no fencing token", text)
	}
}

func TestOnlyTheContextOfALeaderHasAToken(t *testing.T) {
	_, found := FenceFrom(t.Context())
	require.False(t, found)
	fence, found := FenceFrom(WithFence(t.Context(), Fence{"a", 1}))
	require.True(t, found)
	require.Equal(t, Fence{"a", 1}, fence)
}
