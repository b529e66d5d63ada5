package manager

import (
	"errors"
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

// Whoever asks why the controllers fell silent looks for the moment.
func TestTheFlightRecorderHasTheMomentInWhichALostLeaseStopsTheControllers(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(elected, part{slowToEnd: time.Minute})
		require.NoError(t, s.begin(true))
		lost := time.Since(s.recorder.Started())
		s.stopElected(errors.New("the lease is lost"))
		events := s.recorder.Events()
		last := events[len(events)-1]
		require.Equal(t, []string{"leader-elected", "stopping"}, []string{last.Name, last.Op})
		require.Equal(t, lost, last.At)
		require.NoError(t, s.end(time.Second))
	})
}

// A group to which nothing could be added any more was never used.
func TestARunnableThatIsRefusedIsNotInTheFlightRecorder(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(elected, part{slowToEnd: time.Minute})
		require.NoError(t, s.begin(true))
		stopped := make(chan error, 1)
		go func() { stopped <- s.end(time.Hour) }()
		time.Sleep(time.Second)
		require.ErrorIs(t, s.addTo(others, RunnableFunc(nil)), ErrStopped)
		require.NoError(t, <-stopped)
		for _, e := range s.recorder.Events() {
			require.Equal(t, "leader-elected", e.Name)
		}
	})
}
