//go:build figures

package controllers

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

// The table of the chapter: 10 Pods, a surge of 3, and 2 that may be missing.
func TestTheRolloutHasTheStepsOfTheChapter(t *testing.T) {
	s := Rollout.Open()
	s.Do(figure.Action{Key: "restart"})
	for _, said := range []string{"asks for 3 more, which makes 3 of 10.", "So 2 old ones go.", "asks for 2 more, which makes 5 of 10."} {
		figuretest.Press(t, s, figure.Action{Key: "step"})
		require.Contains(t, s.Said(), said)
	}
	figuretest.Press(t, s, figure.Action{Key: "one"}, figure.Action{Key: "step"}, figure.Action{Key: "step"})
	var table []string
	for _, row := range s.Figure().(*rollout).rows {
		total, serving := row.total()
		table = append(table, fmt.Sprint(row.what, ": ", row.oldSets[0].Wanted, " ", row.newSet.Wanted, " ", total, " ", serving))
	}
	require.Equal(t, []string{
		"at first: 10 0 10 10", "new up: 10 3 13 10", "old down: 8 3 11 8", "new up: 8 5 13 8",
		"one serves: 8 5 13 9", "old down: 7 5 12 8", "new up: 7 6 13 8",
	}, table)
}

// A reader compares the last row with the sentence below it. If the two were about different moments, the figure would
// contradict itself.
func TestASentenceIsAboutTheMomentOfItsRow(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 12))
		s := Rollout.Open()
		if seed%2 == 0 {
			s.Do(figure.Action{Key: "restart"})
		}
		for range 30 {
			before := len(s.Figure().(*rollout).rows)
			s.Do(figure.Action{Key: []string{"step", "step", "one", "template", "fails"}[random.IntN(5)], Value: "true"})
			r := s.Figure().(*rollout)
			if len(r.rows) == before {
				continue
			}
			last := r.rows[len(r.rows)-1]
			total, serving := last.total()
			require.Contains(t, s.Said(), "Now there "+either(total, "is ", "are ")+pods(total)+" (at most", last.what)
			require.Contains(t, s.Said(), fmt.Sprintf("and %d %s (at least", serving, either(serving, "serves", "serve")), last.what)
			require.Equal(t, r.isComplete(), strings.Contains(s.Said(), "complete"), s.Said())
		}
	}
}

// Users do not notice a rollout, whatever they have written: enough Pods serve, there are not too many, and it ends.
func TestEveryRolloutRespectsItsLimitsAndEnds(t *testing.T) {
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 4))
		s := Rollout.Open()
		controls := s.Controls()
		set := func(key, value string) { s.Do(figure.Action{Key: key, Value: value}) }
		set("replicas", strconv.Itoa(1+random.IntN(12)))
		for _, control := range controls {
			if control.Key == "surge" || control.Key == "unavailable" {
				set(control.Key, control.Options[random.IntN(len(control.Options))].Value)
			}
		}
		r := func() *rollout { return s.Figure().(*rollout) }
		within := func() {
			total, serving := r().total()
			require.LessOrEqual(t, total, r().most(), s.Said())
			require.GreaterOrEqual(t, serving, r().least(), s.Said())
		}
		for range 2 + random.IntN(10) {
			if random.IntN(8) == 0 {
				set("fails", strconv.FormatBool(!r().fails))
			} else {
				s.Do(figure.Action{Key: []string{"step", "one", "template"}[random.IntN(3)]})
			}
			within()
		}
		if r().fails && !r().isComplete() {
			for range 60 {
				s.Do(figure.Action{Key: "step"})
				within()
			}
			set("fails", "false")
		}
		for range 60 {
			if r().isComplete() {
				break
			}
			s.Do(figure.Action{Key: "step"})
			within()
		}
		require.True(t, r().isComplete(), "replicas %d, surge %s, unavailable %s: %s", r().replicas, r().surge, r().unavailable, s.Words())
	}
}

func TestTheLimitsAreExplained(t *testing.T) {
	for _, c := range []struct {
		replicas           int
		surge, unavailable string
		said               string
	}{
		{10, "25%", "25%", "maxSurge 25% of 10 is 3, rounded up; maxUnavailable 25% is 2, rounded down."},
		{10, "3", "20%", "maxSurge is 3; maxUnavailable 20% is 2, rounded down."},
		{1, "25%", "25%", "at most 2 Pods, and at least 1 serves."},
		{1, "0", "1", "at most 1 Pod, and at least 0 serve."},
		{4, "0", "0", "nothing could ever move"},
		{3, "0", "10%", "nothing could ever move"},
		{4, "0", "1", "at most 4 Pods, and at least 3 serve."},
	} {
		r := newRollout(settings{replicas: c.replicas, surge: c.surge, unavailable: c.unavailable})
		require.Contains(t, r.explainLimits(), c.said)
	}
}

// A bad version must stop where it does no harm, and the figure must say that it is stuck.
func TestABadRolloutIsStuckAndAThirdTemplateHelps(t *testing.T) {
	s := Rollout.Open()
	s.Do(figure.Action{Key: "restart"})
	s.Do(figure.Action{Key: "fails", Value: "true"})
	for range 10 {
		s.Do(figure.Action{Key: "step"})
	}
	require.Contains(t, s.Said(), "stuck")
	require.Contains(t, s.Said(), "Now there are 13 Pods (at most 13), and 8 serve (at least 8).")
	figuretest.Press(t, s, figure.Action{Key: "template"}, figure.Action{Key: "step"})
	require.Contains(t, s.Said(), "5 Pods of the old ones did not serve, so nobody misses them")
}
