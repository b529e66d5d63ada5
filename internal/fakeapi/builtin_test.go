package fakeapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A kind that the scheme lacks is left out, for the sake of a page's program, which has a smaller scheme.
// With client-go's, that must be none.
func TestEachBuiltInKindIsServed(t *testing.T) {
	var want, got []string
	for _, b := range builtins() {
		want = append(want, b.gvk().String())
	}
	for _, res := range builtinResources() {
		require.True(t, res.typed, res.gvk())
		got = append(got, res.gvk().String())
	}
	require.Equal(t, want, got)
}
