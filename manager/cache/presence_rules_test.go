package cache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A controller takes a kind that is gone for a kind without objects if nobody tells it. But a server that
// restarts must not count as one that has lost the kind.
func TestAKindIsGoneOnlyWhenTheServerHasSaidSoSeveralTimesAndForAWhile(t *testing.T) {
	start := time.Unix(0, 0)
	after := func(p removal, d time.Duration, says discovery) removal {
		return p.answered404(start.Add(d), says)
	}
	twice := after(after(removal{}, 0, saysMissing), 2*time.Second, saysMissing)
	require.False(t, twice.isGone)
	require.False(t, after(twice, 2999*time.Millisecond, saysMissing).isGone, "three answers in a moment may be those of one server that is behind")
	require.True(t, after(twice, 3*time.Second, saysMissing).isGone)
	require.True(t, after(twice, 3*time.Second, saysMoved).isGone, "what is somewhere else is not here")

	require.False(t, after(after(removal{}, 0, saysMissing), time.Hour, saysMissing).isGone, "two answers are not enough, however long it took")
	require.Equal(t, removal{}, after(removal{}, 0, saysNothing), "time that nobody has confirmed does not count")
	require.Equal(t, twice, after(twice, time.Hour, saysNothing), "a discovery that fails says nothing")
	require.True(t, after(after(twice, time.Hour, saysNothing), 2*time.Hour, saysMissing).isGone, "nor does it say that the kind is there")
	require.Equal(t, removal{}, after(twice, time.Hour, saysServed), "it was the list that was wrong")
	require.False(t, after(after(twice, 3*time.Second, saysServed), 6*time.Second, saysMissing).isGone, "the count begins again")
}
