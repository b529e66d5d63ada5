package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// An action is what a button does. Those of a user are kubectl lines, so that the page can show
// what to type instead.

// kubectl runs a line whose output nobody reads.
func (w *World) kubectl(ctx context.Context, format string, values ...any) error {
	return w.Kubectl.Run(ctx, fmt.Sprintf(format, values...), "", io.Discard)
}

// Create creates a Deployment.
func (w *World) Create(ctx context.Context, name, image string, replicas int) error {
	return w.kubectl(ctx, "create deployment %s --image=%s --replicas=%d", name, image, replicas)
}

// Scale changes how many Pods a Deployment wants.
func (w *World) Scale(ctx context.Context, deployment string, replicas int) error {
	return w.kubectl(ctx, "scale deployment %s --replicas=%d", deployment, replicas)
}

// SetImage changes the image of a Deployment's containers, which begins a rollout.
func (w *World) SetImage(ctx context.Context, deployment, image string) error {
	return w.kubectl(ctx, "set image deployment %s *=%s", deployment, image)
}

// Rollback takes a Deployment back to the revision before.
func (w *World) Rollback(ctx context.Context, deployment string) error {
	return w.kubectl(ctx, "rollout undo deployment %s", deployment)
}

// Pause and Resume stop a rollout, and let it go on.
func (w *World) Pause(ctx context.Context, deployment string) error {
	return w.kubectl(ctx, "rollout pause deployment %s", deployment)
}

// Resume lets a rollout go on.
func (w *World) Resume(ctx context.Context, deployment string) error {
	return w.kubectl(ctx, "rollout resume deployment %s", deployment)
}

// DeletePod asks for the end of a Pod.
func (w *World) DeletePod(ctx context.Context, name string) error {
	return w.kubectl(ctx, "delete pod %s --wait=false", name)
}

// Delete asks for the end of a Deployment: cascade is background, foreground or orphan.
func (w *World) Delete(ctx context.Context, deployment, cascade string) error {
	return w.kubectl(ctx, "delete deployment %s --cascade=%s --wait=false", deployment, cascade)
}

// Cordon keeps new Pods from a node.
func (w *World) Cordon(ctx context.Context, node string) error {
	return w.kubectl(ctx, "cordon %s", node)
}

// Uncordon lets new Pods on a node again.
func (w *World) Uncordon(ctx context.Context, node string) error {
	return w.kubectl(ctx, "uncordon %s", node)
}

// KillNode stops a node: it falls silent, and 50 s later the node lifecycle controller notices.
func (w *World) KillNode(name string) error {
	n := w.nodes[name]
	if n == nil {
		return fmt.Errorf("%s: %w", name, errNoNode)
	}
	n.kill()
	w.touch()
	return nil
}

// ReviveNode starts a node again.
func (w *World) ReviveNode(name string) error {
	n := w.nodes[name]
	if n == nil {
		return fmt.Errorf("%s: %w", name, errNoNode)
	}
	n.revive()
	w.touch()
	return nil
}

// Processes returns those of mini, the oldest first.
func (w *World) Processes() []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.processes)
}

// Leader returns the process whose controllers work: the one that holds the lease, or the only
// one. It returns nil if there is none.
func (w *World) Leader(ctx context.Context) *Process {
	all := w.Processes()
	if w.options.Replicas == 1 {
		return all[len(all)-1] // it needs no lease
	}
	lease, _ := mini.Get[*coordinationv1.Lease](ctx, w.client, leaseKey)
	for _, p := range all {
		if p.Name == ptr.Deref(lease.Spec.HolderIdentity, "") {
			return p
		}
	}
	return nil
}

var errNoLeader = errors.New("no process leads")

// KillLeader ends the process that leads without a word: it releases no lease.
func (w *World) KillLeader(ctx context.Context) error {
	p := w.Leader(ctx)
	if p == nil || !p.Alive() {
		return errNoLeader
	}
	p.kill()
	w.touch()
	return nil
}

// StartProcess starts one more process of mini, for one that was killed. A second one without a lease
// would undo the first one's work.
func (w *World) StartProcess() error {
	elect := w.options.Replicas > 1
	for _, p := range w.Processes() {
		if !elect && p.Alive() {
			return fmt.Errorf("%s is alive, and without a lease there's room for one: kill it first", p.Name)
		}
	}
	return w.addProcess(elect)
}

// Disturb does to the leader's connection what xray.Steps.Press does: "hold watch" of a resource,
// "release watch", "drop watch", "expire watch", "lose an answer", "cut the lease", and so on.
func (w *World) Disturb(ctx context.Context, do, resource string) error {
	p := w.Leader(ctx)
	if p == nil {
		return errNoLeader
	}
	return p.Steps.Press(do, resource)
}

// Slow has each write of mini's processes take longer, until it's called with 0.
func (w *World) Slow(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fast != nil {
		w.fast()
		w.fast = nil
	}
	if by > 0 {
		w.fast = w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "mini-"}, Delay: by})
	}
}

// Do does what a button of the page says. Actions has the names.
func (w *World) Do(ctx context.Context, name string, args ...string) error {
	action, ok := Actions[name]
	if !ok {
		return fmt.Errorf("there is no action %q", name)
	}
	if len(args) != action.args {
		return fmt.Errorf("the action %q takes %d values, and not %d", name, action.args, len(args))
	}
	return action.do(ctx, w, args)
}

type action struct {
	args int // how many
	do   func(ctx context.Context, w *World, args []string) error
}

// Actions are what Do knows, with the values that each takes in its comment.
var Actions = map[string]action{
	"create": {3, func(ctx context.Context, w *World, a []string) error { // name, image, replicas
		n, err := strconv.Atoi(a[2])
		if err != nil {
			return err
		}
		return w.Create(ctx, a[0], a[1], n)
	}},
	"scale": {2, func(ctx context.Context, w *World, a []string) error { // Deployment, replicas
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		return w.Scale(ctx, a[0], n)
	}},
	"set image":  {2, func(ctx context.Context, w *World, a []string) error { return w.SetImage(ctx, a[0], a[1]) }},
	"rollback":   {1, func(ctx context.Context, w *World, a []string) error { return w.Rollback(ctx, a[0]) }},
	"pause":      {1, func(ctx context.Context, w *World, a []string) error { return w.Pause(ctx, a[0]) }},
	"resume":     {1, func(ctx context.Context, w *World, a []string) error { return w.Resume(ctx, a[0]) }},
	"delete pod": {1, func(ctx context.Context, w *World, a []string) error { return w.DeletePod(ctx, a[0]) }},
	"delete":     {2, func(ctx context.Context, w *World, a []string) error { return w.Delete(ctx, a[0], a[1]) }}, // Deployment, cascade
	"cordon":     {1, func(ctx context.Context, w *World, a []string) error { return w.Cordon(ctx, a[0]) }},
	"uncordon":   {1, func(ctx context.Context, w *World, a []string) error { return w.Uncordon(ctx, a[0]) }},
	"kill node":  {1, func(_ context.Context, w *World, a []string) error { return w.KillNode(a[0]) }},
	"revive node": {1, func(_ context.Context, w *World, a []string) error {
		return w.ReviveNode(a[0])
	}},
	"kill leader":   {0, func(ctx context.Context, w *World, _ []string) error { return w.KillLeader(ctx) }},
	"start process": {0, func(_ context.Context, w *World, _ []string) error { return w.StartProcess() }},
	"disturb":       {2, func(ctx context.Context, w *World, a []string) error { return w.Disturb(ctx, a[0], a[1]) }}, // what, resource
	"slow": {1, func(_ context.Context, w *World, a []string) error { // a duration, as in 200ms
		by, err := time.ParseDuration(a[0])
		if err == nil {
			w.Slow(by)
		}
		return err
	}},
}
