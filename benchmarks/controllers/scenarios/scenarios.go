// Package scenarios is what users, kubelets and administrators do to Deployments, ReplicaSets, Pods and Services, and
// controllers have to cope with.
//
// A [Scenario] is a list of named steps, each of which does one thing in a namespace and then waits until all have done
// their work. Those that are written down (written_*.go) each ask one question. Those of a seed (random.go) ask what
// nobody has thought of.
//
// Neighbours: below it is the package stage. Above it is the comparison, which plays a scenario with the originals and
// with our controllers.
package scenarios

import (
	"context"
	"slices"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// Scenario is played on an empty namespace.
type Scenario struct {
	Name  string
	About string // the controller that it is about
	Steps []Step
	// Loose says that the number of creations and deletions, and the Events, depend on the moment: steps do not wait for
	// each other, or the user and a controller write the same field.
	Loose bool
}

// Step does one thing.
type Step struct {
	Text string
	Do   func(context.Context, *stage.Stage) error
	// Until is what the step leads to, as mask.State.Says reads it. Only the scenarios of Rest have it.
	Until []string
	// Theirs and Ours are what only the originals come to, and only ours.
	Theirs, Ours []string
	// Hurried says that the next step does not wait until this one has settled.
	Hurried bool
}

// hurried is a step that the next one does not wait for.
func hurried(step Step) Step {
	step.Hurried = true
	step.Text += ", and at once:"
	return step
}

// Written are the scenarios that are written down.
func Written() []Scenario {
	var all []Scenario
	for _, group := range [][]Scenario{replicaSets, ranking, deploymentScenarios, endpointsScenarios} {
		all = append(all, group...)
	}
	return all
}

// All are the scenarios that are written down, and those of this many seeds.
func All(seeds int) []Scenario {
	all := Written()
	for seed := range seeds {
		all = append(all, Random(uint64(seed)))
	}
	return all
}

// Rest are the scenarios about the controllers that only mini has.
func Rest() []Scenario {
	return slices.Concat(namespaceScenarios, jobScenarios, cronJobScenarios, daemonSetScenarios, statefulSetScenarios, nodeScenarios)
}
