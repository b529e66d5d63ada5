package deployment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func rolling(desired int32, surge, unavailable string) *appsv1.DeploymentSpec {
	return &appsv1.DeploymentSpec{Replicas: &desired, Strategy: appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
		},
	}}
}

// altered is a spec with another strategy.
func altered(
	spec *appsv1.DeploymentSpec, change func(*appsv1.DeploymentStrategy),
) *appsv1.DeploymentSpec {
	change(&spec.Strategy)
	return spec
}

// Function: limitsOf
func TestPercentagesAreRoundedToTheCarefulSide(t *testing.T) {
	for _, c := range []struct {
		spec *appsv1.DeploymentSpec
		want limits
		why  string
	}{
		{rolling(10, "3", "2"), limits{10, 3, 2}, "numbers are taken as they are"},
		{rolling(8, "25%", "25%"), limits{8, 2, 2}, "a quarter of 8 is 2"},
		{
			rolling(10, "25%", "0"), limits{10, 3, 0},
			"a surge is rounded up: with 2.5 Pods allowed, a third one may come",
		},
		{
			rolling(10, "0", "25%"), limits{10, 0, 2},
			"what may be missing is rounded down: with 2.5 Pods, no third one may be missing",
		},
		{
			rolling(1, "1%", "25%"), limits{1, 1, 0},
			"one Pod and the default of 25%: the new Pod comes before the old one goes, and " +
				"users notice nothing",
		},
		{
			rolling(3, "0", "10%"), limits{3, 0, 1},
			"both come out as zero: without one Pod that may be missing, the rollout could " +
				"never begin",
		},
		{rolling(3, "0", "7"), limits{3, 0, 3}, "no more Pods can be missing than there should be"},
		{rolling(0, "0", "10%"), limits{0, 0, 0}, "where no Pods are desired, none can be missing"},
		{rolling(1, "100%", "0"), limits{1, 1, 0}, "100% of one is one"},
		{
			&appsv1.DeploymentSpec{
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			},
			limits{1, 0, 0}, "Recreate has no limits, and without a number, one Pod is desired",
		},
		{altered(rolling(8, "2", "3"), func(s *appsv1.DeploymentStrategy) {
			s.Type = appsv1.RecreateDeploymentStrategyType
		}), limits{8, 0, 0}, "limits that another strategy has left mean nothing"},
		{altered(rolling(8, "2", "3"), func(s *appsv1.DeploymentStrategy) {
			s.RollingUpdate = nil
		}), limits{8, 0, 0}, "no limits were written, though the API server writes some"},
		{altered(rolling(8, "2", "3"), func(s *appsv1.DeploymentStrategy) {
			s.RollingUpdate.MaxSurge = nil
		}), limits{8, 0, 3}, "one of the limits was not written"},
	} {
		require.Equal(t, c.want, limitsOf(c.spec), c.why)
	}
}

// Function: newSize
func TestTheNewReplicaSetGrowsIntoTheRoomThatThereIs(t *testing.T) {
	of := func(wanted ...int32) (sizes []size) {
		for _, w := range wanted {
			sizes = append(sizes, size{wanted: w, available: w})
		}
		return sizes
	}
	for _, c := range []struct {
		limits limits
		has    int32
		old    []size
		want   int32
		why    string
	}{
		{limits{10, 3, 2}, 0, nil, 10, "a first rollout has all the room it wants"},
		{limits{10, 3, 2}, 0, of(10), 3, "of 13 Pods that may be there, 10 are there"},
		{
			limits{10, 3, 2}, 3, of(2, 5, 1), 5,
			"the Pods of all old ReplicaSets take room, and so do its own",
		},
		{limits{10, 3, 2}, 9, of(1), 10, "there is room for 3 more, but only 10 are desired"},
		{limits{10, 3, 2}, 3, of(10), 3, "there is no room left"},
		{limits{10, 0, 2}, 0, of(10), 0, "without a surge, an old Pod has to go first"},
		{
			limits{10, 0, 2}, 2, of(11), 2,
			"there is less room than none, because somebody has lowered the surge; the new Pods " +
				"stay",
		},
		{limits{4, 1, 0}, 6, of(3), 4, "fewer Pods are desired than the new ReplicaSet has"},
		{limits{0, 1, 0}, 0, nil, 0, "no Pods are desired"},
	} {
		require.Equal(t, c.want, newSize(c.limits, size{wanted: c.has}, c.old), c.why)
	}
}

// Function: oldSizes
func TestOldPodsGoAsNewOnesServe(t *testing.T) {
	for _, c := range []struct {
		limits limits
		newRS  size
		old    []size
		want   []int32
		why    string
	}{
		{
			limits{10, 3, 2}, size{3, 0}, []size{{10, 10}}, []int32{8},
			"2 Pods may be missing, so 2 go at once",
		},
		{
			limits{10, 3, 0}, size{3, 0}, []size{{10, 10}}, []int32{10},
			"no Pod may be missing, and the new ones do not serve yet",
		},
		{
			limits{10, 3, 2}, size{5, 0}, []size{{8, 8}}, []int32{8},
			"new Pods that do not serve yet replace nobody: 8 have to serve, and 8 do",
		},
		{
			limits{10, 3, 2}, size{5, 4}, []size{{8, 8}}, []int32{4},
			"4 new Pods serve, so 4 old ones may go",
		},
		{
			limits{10, 3, 2}, size{10, 10}, []size{{2, 2}, {1, 1}}, []int32{0, 0},
			"the new Pods are enough, and all old ones go",
		},
		{
			limits{10, 3, 2}, size{3, 1}, []size{{2, 2}, {2, 2}, {6, 6}}, []int32{0, 1, 6},
			"3 Pods may go, and the oldest ReplicaSet loses them first",
		},
		{
			limits{10, 3, 2}, size{0, 0}, []size{{8, 8}, {5, 0}}, []int32{8, 0},
			"the Pods of a bad rollout never served: they go first, and make room, though they " +
				"are younger",
		},
		{
			limits{10, 3, 2}, size{5, 0}, []size{{8, 7}}, []int32{8},
			"an old Pod that fails may come back; if it went, only 7 could serve, and 8 have to",
		},
		{
			limits{10, 3, 2}, size{1, 0}, []size{{9, 9}, {3, 1}}, []int32{7, 1},
			"2 of the younger ones do not serve, and go; of the 10 that serve, the oldest loses 2",
		},
		{
			limits{4, 1, 1}, size{1, 0}, []size{{3, 5}}, []int32{3},
			"the status is older than the last change: it counts 5 Pods where 3 are wanted, and " +
				"only 3 can be relied on",
		},
		{
			limits{4, 2, 1}, size{2, 4}, []size{{3, 3}}, []int32{1},
			"the same for new Pods: 2 are wanted, whatever the status says",
		},
		{limits{0, 1, 0}, size{0, 0}, []size{{2, 2}, {1, 0}}, []int32{0, 0}, "no Pods are desired"},
		{
			limits{5, 1, 1}, size{5, 5}, []size{{0, 0}, {0, 2}}, []int32{0, 0},
			"there is nothing to take",
		},
	} {
		require.Equal(t, c.want, oldSizes(c.limits, c.newRS, c.old), "%s: %+v, new %+v, old %+v",
			c.why, c.limits, c.newRS, c.old)
	}
}

// With numbers that overflow, such a Deployment would never get a Pod.
func TestReplicasAndSurgeTogetherAreANumberOfPods(t *testing.T) {
	const most = math.MaxInt32
	for _, surge := range []string{"1", "25%", "200%", "2147483647"} {
		l := limitsOf(rolling(most, surge, "0"))
		require.Equal(t, limits{most, 0, 1}, l, "a surge of %s", surge)
		require.Equal(t, int32(most), newSize(l, size{}, nil), "a surge of %s", surge)
	}
	require.Equal(t, limits{most - 5, 5, 3}, limitsOf(rolling(most-5, "25%", "3")),
		"as far as there is room")
}

// randomSizes are a Deployment in any state: in the middle of several rollouts, with Pods that
// fail, and with statuses that are late.
func randomSizes(random *rand.Rand) (limits, size, []size) {
	l := limitsOf(rolling(random.Int32N(12),
		[]string{"0", "1", "3", "10%", "25%", "100%"}[random.IntN(6)],
		[]string{"0", "1", "2", "25%", "100%"}[random.IntN(5)]))
	any := func() size {
		wanted := random.Int32N(8)
		return size{wanted, random.Int32N(wanted + 1)}
	}
	newRS := any()
	newRS.wanted, newRS.available = min(newRS.wanted, l.desired), min(newRS.available, l.desired)
	var old []size
	for range random.IntN(4) {
		old = append(old, any())
	}
	return l, newRS, old
}

// Users would notice: more Pods than their quota allows, or fewer available ones than they asked
// for.
func TestNoStepExceedsTheLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 1))
	for range 20_000 {
		l, newRS, old := randomSizes(random)
		total, serving := sums(newRS, old)
		state := fmt.Sprintf("%+v, new %+v, old %+v", l, newRS, old)
		grown := newSize(l, newRS, old)
		require.LessOrEqual(t, total+grown-newRS.wanted, max(total, l.desired+l.surge),
			"too many: %s", state)
		require.GreaterOrEqual(t, grown, newRS.wanted, "new Pods go though they are desired: %s",
			state)
		shrunk := slices.Clone(old)
		for i, to := range oldSizes(l, newRS, old) {
			require.LessOrEqual(t, to, old[i].wanted, "an old ReplicaSet grows: %s", state)
			require.GreaterOrEqual(t, to, int32(0), state)
			shrunk[i].wanted = to
		}
		_, left := sums(newRS, shrunk)
		require.GreaterOrEqual(t, left, min(serving, l.desired-l.unavailable), "too few serve: %s",
			state)
	}
}

func sums(newRS size, old []size) (total, serving int32) {
	for _, s := range append(slices.Clone(old), newRS) {
		total += s.wanted
		serving += s.serving()
	}
	return total, serving
}

// A rollout that makes no step, and waits for no Pod, waits forever.
func TestEveryStepMovesOrWaitsForNewPods(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 2))
	for range 20_000 {
		l, newRS, old := randomSizes(random)
		state := fmt.Sprintf("%+v, new %+v, old %+v", l, newRS, old)
		moves := newSize(l, newRS, old) != newRS.wanted
		left := int32(0)
		for i, to := range oldSizes(l, newRS, old) {
			moves = moves || to != old[i].wanted
			left += to
		}
		ended := newRS.wanted == l.desired && left == 0
		require.True(t, moves || ended || waitsFor(newRS) > 0,
			"nothing moves, and nothing will: %s", state)
	}
}

// If Pods become available sooner or later, a rollout in any state completes.
func TestEveryRolloutEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 3))
	for range 5_000 {
		l, newRS, old := randomSizes(random)
		state := fmt.Sprintf("%+v, new %+v, old %+v", l, newRS, old)
		for range 100 {
			newRS.wanted = newSize(l, newRS, old)
			for i, to := range oldSizes(l, newRS, old) {
				old[i].wanted = to
			}
			if newRS.available < newRS.wanted {
				newRS.available++
			}
		}
		total, serving := sums(newRS, old)
		require.Equal(t, []int32{l.desired, l.desired, l.desired},
			[]int32{newRS.wanted, total, serving}, state)
	}
}
