// Package controllers compares our controllers with Kubernetes' own.
//
// A scenario is played in two worlds: in one, the originals run, in the other one, ours do. What both leave behind after
// each step is compared, field by field, and how many objects were created and deleted on the way. A field that differs
// is a mistake, unless explained.yaml says why it is none. Besides, both must keep their promises at every moment: never
// more Pods than are asked for, never fewer than are promised.
//
// Neighbours: below it are stage, which plays and records, mask, which makes two runs comparable, and scenarios. The
// command is cmd/controllers.
package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/loopwright/loopwright/benchmarks/controllers/mask"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// Result is what a scenario has left behind in one world.
type Result struct {
	After []After // each step that has settled
	stage.Judgement
}

// After is the state after a step.
type After struct {
	Step  string
	State mask.State
}

// Play plays a scenario in a namespace of a world. With events, it waits for the Events about it.
func Play(ctx context.Context, world *stage.World, scenario scenarios.Scenario, namespace string, events bool) (result Result, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := world.NewStage(ctx, namespace)
	if err != nil {
		return result, err
	}
	go s.Kubelet(ctx)
	defer func() { err = errors.Join(err, s.End(context.WithoutCancel(ctx))) }()
	for i, step := range scenario.Steps {
		fail := func(err error) error { return fmt.Errorf("%s, step %d, %s: %w", world.Name, i+1, step.Text, err) }
		if err := step.Do(ctx, s); err != nil {
			return result, fail(err)
		}
		if step.Hurried {
			continue
		}
		if err := s.Settle(ctx); err != nil {
			return result, fail(err)
		}
		withEvents := i == len(scenario.Steps)-1 && events
		if withEvents {
			if err := s.SettleEvents(ctx); err != nil {
				return result, fail(err)
			}
		}
		state, err := mask.Of(s.Objects(), s.Log(), withEvents)
		if err != nil {
			return result, fail(err)
		}
		result.After = append(result.After, After{Step: fmt.Sprintf("%d, %s", i+1, step.Text), State: state})
	}
	result.Judgement = s.Judge(scenario.Loose)
	return result, nil
}
