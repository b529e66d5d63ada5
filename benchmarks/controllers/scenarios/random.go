package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// Random is the scenario of a seed. Its steps leave nothing to chance that the ranking of Pods does not decide: where it
// matters which Pod goes, all that could go are the same.
func Random(seed uint64) Scenario {
	r := &dice{rand.New(rand.NewPCG(seed, 11)), 0}
	switch r.IntN(5) {
	case 0, 1:
		return about("replicaset", fmt.Sprintf("seed %d", seed), r.replicaSet()...)
	case 2, 3:
		return about("deployment", fmt.Sprintf("seed %d", seed), r.deployment()...)
	default:
		return about("endpoints", fmt.Sprintf("seed %d", seed), r.endpoints()...)
	}
}

type dice struct {
	*rand.Rand
	names int
}

// name is a new name.
func (r *dice) name() string {
	r.names++
	return fmt.Sprintf("%c", 'a'+r.names-1)
}

func oneOf[T any](r *dice, choices ...T) T { return choices[r.IntN(len(choices))] }

// replicas is a small number, and not often 0.
func (r *dice) replicas() int32 { return int32(max(r.IntN(9)-1, 0)) }

// ifAny is a step that does nothing if there is nothing that it could be done to.
func ifAny(step Step) Step {
	do := step.Do
	step.Do = func(ctx context.Context, s *stage.Stage) error {
		if err := do(ctx, s); !errors.Is(err, errNone) {
			return err
		}
		return nil
	}
	return step
}

// times draws n steps.
func (r *dice) times(n int, draw func() []Step) (steps []Step) {
	for range n {
		steps = append(steps, draw()...)
	}
	return steps
}

// podStep is what happens to Pods, whoever owns them.
func (r *dice) podStep() Step {
	switch r.IntN(6) {
	case 0:
		return ifAny(deletePod(oneOf(r, aReadyPod, anUnreadyPod)))
	case 1:
		return ifAny(fail(oneOf(r, aReadyPod, anUnreadyPod)))
	case 2, 3:
		return ifAny(becomeUnready(aReadyPod))
	case 4:
		return ifAny(becomeReady(anUnreadyPod))
	default:
		return ifAny(addLabel(aReadyPod, "app", "out-"+r.name()))
	}
}

func (r *dice) replicaSet() []Step {
	image, ready := oneOf(r, "works:1", "works:1", "breaks:1", "lingers:1"), int32(oneOf(r, 0, 0, 0, 1))
	rs := set(set1, r.replicas(), setImage(image), setMinReady(ready))
	steps := []Step{createSet(rs)}
	return append(steps, r.times(4+r.IntN(4), func() []Step {
		switch r.IntN(9) {
		case 0, 1, 2:
			return []Step{scaleSet(set1, r.replicas())}
		case 3: // it costs so much to delete that others go first
			name := r.name()
			return []Step{createPod(pod(name, map[string]string{"app": "new"}, runsImage(image), cost(fmt.Sprint(1000-r.names)))), ifAny(addLabel(named(name), "app", "web"))}
		case 4:
			return []Step{deleteSet(set1, oneOf(r, background, foreground, orphan)), letGo, createSet(rs)}
		case 5:
			return []Step{letGo}
		default:
			return []Step{r.podStep()}
		}
	})...)
}

func (r *dice) deployment() []Step {
	strategy := oneOf(r, rolling("25%", "25%"), rolling("1", "0"), rolling("0", "1"), rolling("2", "2"), rolling("50%", "10%"), recreate)
	d := deployment(app, r.replicas(), strategy, history(int32(oneOf(r, 10, 10, 2, 0))), deadline(oneOf(r, int32(600), 600, 3)), minReady(int32(oneOf(r, 0, 0, 0, 1))))
	steps := []Step{deploy(d)}
	stopped := false
	return append(steps, r.times(4+r.IntN(4), func() []Step {
		switch r.IntN(12) {
		case 0, 1:
			return []Step{scale(r.replicas())}
		case 2, 3, 4:
			return []Step{roll(oneOf(r, "works:1", "works:2", "works:3", "breaks:1", "breaks:2"))}
		case 5:
			return []Step{ifAny(undo(-1))}
		case 6:
			stopped = !stopped
			return []Step{editApp(fmt.Sprintf("paused: %t", stopped), paused(stopped))}
		case 7:
			return []Step{editApp("other limits", oneOf(r, rolling("25%", "25%"), rolling("1", "0"), rolling("0", "1"), rolling("3", "1")))}
		case 8:
			stopped = false
			return []Step{deleteDeployment(oneOf(r, background, foreground, orphan)), deploy(d)}
		case 9:
			label := "out-" + r.name()
			return []Step{ifAny(changeRevision("take out", 0, func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = label }))}
		default:
			return []Step{r.podStep()}
		}
	})...)
}

func (r *dice) endpoints() []Step {
	steps := []Step{serve(oneOf(r, headless, publishes(true), publishes(false), ports([3]string{"http", "80", "web"}, [3]string{"other", "81", "81"})))}
	return append(steps, r.times(6+r.IntN(5), func() []Step {
		switch r.IntN(10) {
		case 0, 1, 2:
			more := oneOf(r, runsImage("works:1"), runsImage("breaks:1"), listens("web", 8080), listens("web", 8081), onNode("node-2"), hostname("h", app))
			return []Step{createPod(pod(r.name(), oneOf(r, web, web, map[string]string{"app": "shop"}), more))}
		case 3:
			return []Step{editService("another selector", selects(oneOf(r, web, map[string]string{"app": "shop"})))}
		case 4:
			return []Step{editService("publish or not", publishes(oneOf(r, true, false)))}
		case 5:
			labels := oneOf(r, web, map[string]string{"team": "a"}, nil)
			return []Step{editService("a label", func(s *corev1.Service) { s.Labels = labels })}
		case 6:
			return []Step{deleteService(), serve(oneOf(r, headless, publishes(false)))}
		default:
			return []Step{r.podStep()}
		}
	})...)
}
