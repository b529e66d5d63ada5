package plots

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachColourIsAnother(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range colours {
		seen[fmt.Sprint(c)] = true
	}
	require.Len(t, seen, len(colours))
}
