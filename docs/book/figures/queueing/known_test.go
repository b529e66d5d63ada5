//go:build figures

package queueing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

func press(keys ...string) (actions []figure.Action) {
	for _, key := range keys {
		actions = append(actions, figure.Action{Key: key})
	}
	return actions
}

// The sentence is what a reader remembers.
func TestAnAddDuringWorkIsSaidToBeDeferredAndComesAfterDone(t *testing.T) {
	s := Queue.Open()
	s.Do(figure.Action{Key: "restart"})
	figuretest.Press(t, s, press("add web", "add web")...)
	require.Contains(t, s.Said(), "merged: web waits already. One look will answer both adds.")
	s.Do(figure.Action{Key: "add web"})
	require.Contains(t, s.Said(), "One look will answer all 3 adds.")
	figuretest.Press(t, s, press("worker 1", "add web")...)
	require.Contains(t, s.Said(), "deferred")
	require.Contains(t, s.Words(), "web is dirty and processing")
	s.Do(figure.Action{Key: "worker 2"})
	require.Contains(t, s.Said(), "Nothing is ready", "no second worker gets it")
	figuretest.Press(t, s, press("worker 1", "worker 2")...)
	require.Contains(t, s.Words(), "Worker 2 holds web")
}

func TestOfSeveralMomentsTheEarliestIsSaidToWin(t *testing.T) {
	s := Delays.Open()
	s.Do(figure.Action{Key: "restart"})
	for _, c := range []struct {
		after, key, said string
		due              time.Duration
	}{
		{"8", "AddAfter", "started", 8 * time.Second},
		{"3", "AddAfter", "moved", 3 * time.Second},
		{"10", "AddAfter", "kept", 3 * time.Second},
		{"10", "ReplaceAfter", "moved", 10 * time.Second},
		{"0", "AddAfter", "The alarm for second 10 stays", 10 * time.Second},
	} {
		s.Do(figure.Action{Key: "after", Value: c.after})
		figuretest.Press(t, s, figure.Action{Key: c.key})
		require.Contains(t, s.Said(), c.said)
		require.Equal(t, c.due, s.Figure().(*delays).due("web"))
	}
	figuretest.Press(t, s, press("timer")...)
	require.Contains(t, s.Said(), "merged", "it waited already")
	require.Contains(t, s.Words(), "It is second 10.")
	figuretest.Press(t, s, press("work")...)
	require.Contains(t, s.Said(), "has no alarm, so the queue forgets it")
	require.False(t, s.Figure().(*delays).cores.Entry("web").Known)
	s.Do(figure.Action{Key: "after", Value: "5"})
	figuretest.Press(t, s, press("AddAfter")...)
	s.Do(figure.Action{Key: "after", Value: "0"})
	figuretest.Press(t, s, press("AddAfter", "work")...)
	require.Contains(t, s.Said(), "The alarm of web for second 15 stays.")
}

// The chapter's table of 11 pops, with a patience of 4.
func TestTheLevelsTakeTurnsAsInTheChapter(t *testing.T) {
	q := newPriority(4, true)
	for _, class := range []string{"10", "0", "-100"} {
		q.Do(figure.Action{Key: "priority", Value: class})
		q.Do(figure.Action{Key: "five"})
	}
	var served []int
	for pop := range 11 {
		class, _, _ := q.next()
		served = append(served, class)
		said := q.Do(figure.Action{Key: "serve"})
		if pop == 4 {
			require.Contains(t, said, "priority 0 has waited for 5 pops, more than the patience of 4")
		}
		if len(q.waiting) < 15 { // none runs dry
			q.class = class
			q.Do(figure.Action{Key: "one"})
		}
	}
	require.Equal(t, []int{10, 10, 10, 10, 0, -100, 10, 10, 10, 0, -100}, served)
}
