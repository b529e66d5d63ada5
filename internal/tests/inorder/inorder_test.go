package inorder_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

func TestAMapIsWalkedThroughInTheOrderOfItsKeysUntilTheReaderStops(t *testing.T) {
	m := map[int]string{}
	for i := range 100 {
		m[i] = string(rune('a' + i%26))
	}
	next := 0
	for key, value := range inorder.Map(m) {
		require.Equal(t, next, key)
		require.Equal(t, m[key], value)
		if next++; next == 50 {
			break
		}
	}
	require.Equal(t, 50, next)
}
