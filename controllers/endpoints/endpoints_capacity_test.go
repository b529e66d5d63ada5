package endpoints

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// subsetOf has so many addresses, which are different for each first number.
func subsetOf(first, ready, notReady int) (s corev1.EndpointSubset) {
	for i := range ready {
		s.Addresses = append(s.Addresses, at(first+i))
	}
	for i := range notReady {
		s.NotReadyAddresses = append(s.NotReadyAddresses, at(first+ready+i))
	}
	return s
}

// shares are the numbers of addresses in each subset.
func shares(subsets []corev1.EndpointSubset) (numbers [][2]int) {
	for _, s := range subsets {
		numbers = append(numbers, [2]int{len(s.Addresses), len(s.NotReadyAddresses)})
	}
	return numbers
}

// A port would have no address left, or addresses that do not answer instead of some that do.
func TestWhatIsTooMuchIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name       string
		have, left [][2]int
		is         bool
	}{
		{"no more than there may be", [][2]int{{6, 3}, {1, 0}}, [][2]int{{6, 3}, {1, 0}}, false},
		{"one too many", [][2]int{{6, 5}}, [][2]int{{6, 4}}, true},
		{"those that are not ready go first", [][2]int{{6, 9}, {3, 1}}, [][2]int{{6, 1}, {3, 0}}, true},
		{"what is left is divided", [][2]int{{1, 8}, {1, 8}}, [][2]int{{1, 4}, {1, 4}}, true},
		{"none is left for those that are not ready", [][2]int{{5, 9}, {5, 1}}, [][2]int{{5, 0}, {5, 0}}, true},
		{"more are ready than there may be", [][2]int{{30, 9}, {10, 1}}, [][2]int{{8, 0}, {2, 0}}, true},
		{"shares are rounded up, and the last gets less", [][2]int{{7, 0}, {7, 0}, {7, 0}}, [][2]int{{4, 0}, {4, 0}, {2, 0}}, true},
		{"a subset without addresses is left out", [][2]int{{20, 0}, {0, 5}}, [][2]int{{10, 0}}, true},
		{"the last may get none", [][2]int{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}},
			[][2]int{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}}, true},
	} {
		var have []corev1.EndpointSubset
		for i, n := range c.have {
			have = append(have, subsetOf(100*i, n[0], n[1]))
		}
		left, over := truncate(have, 10)
		require.Equal(t, c.left, shares(left), c.name)
		require.Equal(t, c.is, over, c.name)
	}
}

// The API server has no limit of its own: an object that is larger makes each watch that gets it larger.
func TestAsManyAddressesAreKeptAsThereMayBe(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 5))
	for range 300 {
		var subsets []corev1.EndpointSubset
		for i := range 1 + random.IntN(6) {
			subsets = append(subsets, subsetOf(1000*i, random.IntN(80), 1+random.IntN(80)))
		}
		const most = 100
		before := slices.Clone(subsets)
		ready, notReady := count(subsets)
		left, over := truncate(subsets, most)
		leftReady, leftNotReady := count(left)
		require.Equal(t, before, subsets, "the caller's list must stay as it is")
		require.Equal(t, ready+notReady > most, over)
		require.Equal(t, min(ready, most), leftReady)
		require.Equal(t, min(notReady, most-leftReady), leftNotReady)
		for _, s := range left {
			require.NotZero(t, len(s.Addresses)+len(s.NotReadyAddresses), "the API server refuses a subset without addresses")
		}
		again, over := truncate(left, most)
		require.False(t, over)
		require.Equal(t, left, again)
	}
}

// A large object that is written all the time keeps each node busy with it.
func TestTheRestAfterAWriteIsAsLongAsTheObjectIsLarge(t *testing.T) {
	require.Zero(t, restAfter(nil))
	require.Equal(t, time.Millisecond, restAfter([]corev1.EndpointSubset{subsetOf(0, 1, 2), subsetOf(3, 2, 0)}))
	require.Equal(t, 200*time.Millisecond, restAfter([]corev1.EndpointSubset{subsetOf(0, maxAddresses, 0)}))
}
