package replicaset

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNumberOfPodsChangesByWhatIsMissingOrTooMuch(t *testing.T) {
	for _, c := range []struct {
		want, have int
		change     change
	}{
		{0, 0, change{}}, {3, 3, change{}},
		{3, 0, change{create: 3}}, {3, 2, change{create: 1}},
		{0, 3, change{remove: 3}}, {2, 3, change{remove: 1}},
		{500, 0, change{create: 500}}, {1000, 0, change{create: 500}}, {1000, 700, change{create: 300}},
		{0, 501, change{remove: 500}}, {100, 1000, change{remove: 500}},
	} {
		require.Equal(t, c.change, changeTo(c.want, c.have, defaultBurst), "want %d, have %d", c.want, c.have)
	}
}

// A quota that is used up would be asked hundreds of times.
func TestCreationStartsSlowly(t *testing.T) {
	for _, c := range []struct {
		n     int
		sizes []int
	}{
		{0, nil}, {-1, nil}, {1, []int{1}}, {2, []int{1, 1}}, {3, []int{1, 2}}, {10, []int{1, 2, 4, 3}},
		{500, []int{1, 2, 4, 8, 16, 32, 64, 128, 245}},
	} {
		require.Equal(t, c.sizes, slices.Collect(batches(c.n)), "%d", c.n)
	}
	for n := range 2000 {
		sum := 0
		for size := range batches(n) {
			require.LessOrEqual(t, size, sum+1, "a group is at most one larger than all before it")
			sum += size
		}
		require.Equal(t, n, sum)
	}
	for size := range batches(10) {
		require.Equal(t, 1, size)
		break // as after a failure
	}
}
