package race_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
)

func TestFewerSeedsArePlayedUnderTheRaceDetector(t *testing.T) {
	want := map[bool][]uint64{false: {0, 1, 2, 3}, true: {0, 1}}[race.Enabled]
	require.Equal(t, want, slices.Collect(race.Seeds(4, -1)))
	require.Len(t, want, race.Fewer(4))
}

func TestASeedThatIsPlayedAgainIsPlayedInAnyCase(t *testing.T) {
	require.Equal(t, []uint64{3}, slices.Collect(race.Seeds(4, 3)))
	require.Equal(t, []uint64{0}, slices.Collect(race.Seeds(4, 0)))
}

func TestALoopOverSeedsMayEnd(t *testing.T) {
	played := 0
	for range race.Seeds(4, -1) {
		played++
		break
	}
	require.Equal(t, 1, played)
}
