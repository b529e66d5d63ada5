package manager

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

func TestTheFlightRecorderHasTheStartAndTheEndOfEachGroupThatWasUsed(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(caches, part{slowToBe: time.Second})
		s.put(elected, part{slowToEnd: time.Second})
		require.NoError(t, s.begin(true))
		require.NoError(t, s.end(time.Minute))
		var got []string
		for _, e := range s.recorder.Events() {
			got = append(got, strings.TrimSpace(trace.Timeline{}.Line(e)))
		}
		require.Len(t, got, 8)
		for i, want := range []string{
			"start caches starting", "start caches ready", "start leader-elected starting", "start leader-elected ready",
			"stop leader-elected stopping", "stop leader-elected ended", "stop caches stopping", "stop caches ended",
		} {
			require.Contains(t, strings.Join(strings.Fields(got[i]), " "), "manager "+want)
		}
	})
}

func TestAPhaseIsRecordedOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(caches, part{})
		s.reached(caches, ready)
		s.reached(caches, ready)
		s.reached(caches, starting)
		require.Len(t, s.recorder.Events(), 1)
	})
}
