package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/benchmarks/controllers/mask"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// calm is how long nothing may change before a step is over. It is longer than the second for which the original's Job
// controller gathers the events of Pods. A step in which nothing may happen rests on it alone.
const calm = 2 * time.Second

// Patience is how long a step may take. A silent node is noticed after a minute.
const Patience = 3 * time.Minute

// Converge plays a scenario on both sides, step by step. The next step begins when both have what the step leads to, are
// the same in all fields but those that are explained, and stay so for a moment. So nothing need be known about how a
// controller works: one that backs off takes its time, and a side that never gets there has failed.
func (w Worlds) Converge(ctx context.Context, scenario scenarios.Scenario, namespace string, patience time.Duration, explained []Explanation) (report Report) {
	report = Report{Scenario: scenario, Explained: map[int]int{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sides := []*stage.World{w.Theirs, w.Ours}
	stages := make([]*stage.Stage, len(sides))
	for i, world := range sides {
		var err error
		if stages[i], err = world.NewStage(ctx, namespace+[]string{"-a", "-b"}[i]); err != nil {
			report.Err = err
			return report
		}
		go stages[i].Kubelet(ctx)
		defer func() { report.Err = errors.Join(report.Err, stages[i].End(context.WithoutCancel(ctx))) }()
	}
	seen := map[mask.Difference]bool{}
	for i, step := range scenario.Steps {
		if w.Ours == w.Theirs {
			step.Ours = step.Theirs
		}
		text := fmt.Sprintf("%d, %s", i+1, step.Text)
		failed := make([]error, len(stages))
		var both sync.WaitGroup
		for side := range stages {
			both.Go(func() { failed[side] = step.Do(ctx, stages[side]) })
		}
		both.Wait()
		for side, err := range failed {
			if err != nil {
				report.Err = fmt.Errorf("%s, step %s: %w", sides[side].Name, text, err)
				return report
			}
		}
		found, err := converge(ctx, scenario, step, stages, time.Now().Add(patience), explained)
		for _, difference := range found {
			if !seen[difference] {
				seen[difference] = true
				report.Found = append(report.Found, Found{Difference: difference, Step: text})
			}
		}
		if err != nil {
			report.Err = fmt.Errorf("step %s: %w", text, err)
			return report
		}
	}
	report.Found = append(report.Found, compareCounts(stages[0].Judge(false), stages[1].Judge(false))...)
	return report
}

// converge returns what still differs when both sides have come to rest where the step leads to. It is an error if they
// do not.
func converge(ctx context.Context, scenario scenarios.Scenario, step scenarios.Step, stages []*stage.Stage, deadline time.Time, explained []Explanation) ([]mask.Difference, error) {
	for ; ; time.Sleep(calm / 10) {
		late := time.Now().After(deadline)
		states, resting := make([]mask.State, len(stages)), true
		for i, s := range stages {
			rests, err := s.Rests(ctx, calm)
			if err != nil {
				return nil, err
			}
			resting = resting && rests
			if states[i], err = mask.Of(s.Objects(), s.Log(), false); err != nil {
				return nil, err
			}
		}
		differences := mask.Compare(states[0], states[1])
		gaps, same := missing(step, states), allExplained(scenario.Name, differences, explained)
		switch {
		case resting && same && len(gaps) == 0:
			return differences, nil
		case late && len(gaps) > 0:
			return differences, errors.New(strings.Join(gaps, "; "))
		case late && !resting:
			return differences, errors.New("it does not come to rest")
		case late:
			return differences, nil // what is left is the report
		}
	}
}

// missing lists what a step leads to and has not led to yet, on either side.
func missing(step scenarios.Step, states []mask.State) (all []string) {
	for i, side := range []string{"the original", "ours"} {
		for _, want := range slices.Concat(step.Until, [][]string{step.Theirs, step.Ours}[i]) {
			if has := states[i].Says(want); has != "" {
				all = append(all, fmt.Sprintf("%s: want %s, have %s", side, want, has))
			}
		}
	}
	return all
}

func allExplained(scenario string, differences []mask.Difference, explained []Explanation) bool {
	return !slices.ContainsFunc(differences, func(d mask.Difference) bool {
		return !slices.ContainsFunc(explained, func(e Explanation) bool { return e.explains(scenario, Found{Difference: d}) })
	})
}

// ConvergeAll plays many scenarios, several at a time, and hands out each report as soon as it is there.
func (w Worlds) ConvergeAll(ctx context.Context, list []scenarios.Scenario, atOnce int, patience time.Duration, explained []Explanation, done func(Report)) {
	each(ctx, list, atOnce, func(scenario scenarios.Scenario, namespace string) Report {
		return w.Converge(ctx, scenario, namespace, patience, explained)
	}, done)
}
