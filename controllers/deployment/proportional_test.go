package deployment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Function: proportional
func TestReplicaSetsKeepTheirShares(t *testing.T) {
	of := func(whole int32, sizes ...int32) (shares []share) {
		for _, s := range sizes {
			shares = append(shares, share{s, whole})
		}
		return shares
	}
	for _, c := range []struct {
		shares  []share
		allowed int32
		current int32
		want    []int32
		why     string
	}{
		{of(10, 2, 8), 20, 10, []int32{4, 16}, "twice as many Pods are twice as many of each"},
		{of(20, 16, 4), 10, 20, []int32{8, 2}, "half as many are half as many of each"},
		{of(10, 8, 2), 10, 10, []int32{8, 2}, "nothing has changed"},
		{
			of(12, 6, 3, 3), 14, 12, []int32{7, 3, 4},
			"3 of 12 are 3.5 of 14, and a half is rounded up; that leaves none for the other one",
		},
		{
			of(13, 5, 8), 18, 13, []int32{7, 11},
			"5 of 13 are 6.9 of 18, and 8 are 11.1: both are rounded to the nearest",
		},
		{
			of(9, 3, 3, 3), 10, 9, []int32{3, 3, 4},
			"one is left over: of equals, the newest gets it",
		},
		{of(9, 3, 3, 3), 8, 9, []int32{2, 3, 3}, "one has to go: of equals, the oldest loses it"},
		{
			of(15, 3, 5, 3, 4), 17, 15, []int32{3, 6, 3, 5},
			"a fraction of 0.4 is rounded down, one of 0.67 up, and one of 0.53 up",
		},
		{
			of(22, 4, 10, 4, 4), 25, 22, []int32{4, 11, 5, 5},
			"three more may come: one for the largest, one for each of the newest, and none is " +
				"left for the oldest",
		},
		{
			of(11, 1, 7, 3), 13, 11, []int32{1, 8, 4},
			"7 become 8.3, 3 become 3.5, and 1 becomes 1.2",
		},
		{of(16, 1, 1, 14), 17, 16, []int32{1, 1, 15}, "small ones stay small"},
		{
			of(4, 1, 1, 1, 1), 2, 4, []int32{0, 0, 1, 1},
			"a half is rounded up, so the shares take nothing from anybody, and two have to go " +
				"all the same: the oldest",
		},
		{of(10, 8, 2), 0, 10, []int32{0, 0}, "none is allowed"},
		{
			of(0, 6, 2), 16, 8, []int32{12, 4},
			"nobody knows the whole, because somebody has removed the annotation: what there is " +
				"now stands in for it",
		},
		{
			of(0, 6, 2), 10, 0, []int32{8, 2},
			"and if there is nothing now, all that is new goes to the largest",
		},
		{
			[]share{{4, 10}, {6, 12}}, 20, 10, []int32{8, 12},
			"each got its size when the whole was another, and the largest gets what is left over",
		},
		{
			of(math.MaxInt32/2, 50_000, 60_000), math.MaxInt32/2 + 10, 110_000,
			[]int32{50_000, math.MaxInt32/2 + 10 - 50_000},
			"the product of two numbers does not fit into 32 bits",
		},
		{
			[]share{{1, 1}, {2, 4}}, 5, 3, []int32{2, 3},
			"one was there alone, and may grow by four; the largest comes first, and its share " +
				"grows by one, so one is left",
		},
		{
			[]share{{4, 8}, {6, 12}}, 10, 10, []int32{4, 6},
			"there is nothing to give or to take, whatever the annotations say",
		},
		{
			[]share{{4, 4}, {6, 6}}, 11, 10, []int32{4, 7},
			"the annotations say that all were there alone: nobody gets more than there is to give",
		},
		{
			[]share{{4, 40}, {6, 60}}, 9, 10, []int32{4, 5},
			"the annotations say that there were many more: nobody loses more than has to go",
		},
		{nil, 5, 0, []int32{}, "there is nothing to scale"},
	} {
		require.Equal(t, c.want, proportional(c.shares, c.allowed, c.current),
			"%s: %+v, allowed %d", c.why, c.shares, c.allowed)
	}
}

func randomShares(random *rand.Rand) (shares []share, allowed, total int32) {
	for range 1 + random.IntN(6) {
		shares = append(shares, share{size: 1 + random.Int32N(30)})
		total += shares[len(shares)-1].size
	}
	for i := range shares {
		shares[i].whole = total
		if random.IntN(10) == 0 {
			shares[i].whole = random.Int32N(100) // another program has written the annotation
		}
	}
	return shares, random.Int32N(150), total
}

// If Pods were missing, they would stay missing: the annotations say that the ReplicaSets were
// scaled already.
func TestTheSizesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 4))
	for range 20_000 {
		shares, allowed, total := randomShares(random)
		sum := int32(0)
		sizes := proportional(shares, allowed, total)
		for _, size := range sizes {
			require.GreaterOrEqual(t, size, int32(0), "%+v to %d: %v", shares, allowed, sizes)
			sum += size
		}
		require.Equal(t, allowed, sum, "%+v to %d: %v", shares, allowed, sizes)
	}
}

// A bad rollout that was stopped at a tenth must not become a half because a user scales up.
func TestNobodyGetsMuchMoreOrLessThanItsShare(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 5))
	for range 20_000 {
		shares, allowed, total := randomShares(random)
		for i := range shares {
			shares[i].whole = total
		}
		sizes := proportional(shares, allowed, total)
		for i, size := range sizes {
			exact := float64(shares[i].size) * float64(allowed) / float64(total)
			require.LessOrEqual(t, math.Abs(float64(size)-exact), float64(len(shares)+1)/2,
				"the ReplicaSet %d of %+v to %d: %v", i, shares, allowed, sizes)
			if allowed >= total {
				require.GreaterOrEqual(t, size, shares[i].size,
					"one shrinks though the Deployment grows: %+v to %d: %v", shares, allowed,
					sizes)
			} else {
				require.LessOrEqual(t, size, shares[i].size,
					"one grows though the Deployment shrinks: %+v to %d: %v", shares, allowed,
					sizes)
			}
		}
		for i := range sizes {
			for j := range sizes {
				if shares[i].size > shares[j].size && allowed >= total {
					require.GreaterOrEqual(t, sizes[i], sizes[j],
						"a small one overtakes a large one: %+v to %d: %v", shares, allowed, sizes)
				}
			}
		}
	}
}

// A controller reconciles the same state many times.
func TestScalingTwiceChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 6))
	for range 20_000 {
		shares, allowed, total := randomShares(random)
		before := slices.Clone(shares)
		sizes := proportional(shares, allowed, total)
		require.Equal(t, before, shares)
		var again []share
		for _, size := range sizes {
			again = append(again, share{size, max(allowed, 1)})
		}
		require.Equal(t, sizes, proportional(again, allowed, total), fmt.Sprint(before))
	}
}
