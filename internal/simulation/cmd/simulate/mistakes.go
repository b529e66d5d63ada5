package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// mistake breaks one of our controllers in one place. What the judges say about it shows whether they
// see anything.
type mistake struct {
	controller, what string // the name of a story, and what is broken, in words

	file, right, wrong string // right is in the file once
}

var mistakes = []mistake{
	{
		"replicaset", "the ReplicaSet counts its Pods without waiting for its own writes",
		"controllers/replicaset/reconcile.go", "from = r.client", "from = r.cached",
	},
	{
		"replicaset", "it forgets creates whose answers were lost",
		"controllers/replicaset/pods.go",
		"if mayHaveHappened(err) {\n\t\t\tr.unconfirmed.mayHaveCreated", "if false {\n\t\t\tr.unconfirmed.mayHaveCreated",
	},
	{
		"replicaset", "it adopts without asking whether its ReplicaSet is still there",
		"controllers/replicaset/reconcile.go",
		"claim.StillWants(rs, r.live)", "func(context.Context) error { return nil }",
	},
	{
		"replicaset", "it deletes a Pod by its name, without its UID",
		"controllers/replicaset/pods.go",
		"r.client.Delete(ctx, target, client.Preconditions{UID: &target.UID})", "r.client.Delete(ctx, target)",
	},
	{
		"deployment", "the Deployment surges by one more",
		"controllers/deployment/rolling.go", "l.desired+l.surge-total", "l.desired+l.surge+1-total",
	},
	{
		"deployment", "it allows one more to be unavailable",
		"controllers/deployment/rolling.go", "l.desired - l.unavailable", "l.desired - l.unavailable - 1",
	},
	{
		"deployment", "it takes Pods that are about to go for serving ones",
		"controllers/deployment/rolling.go", "return min(s.available, s.wanted)", "return s.available",
	},
	{
		"endpoints", "Endpoints list Pods that are being deleted",
		"controllers/endpoints/addresses.go", "service.Spec.PublishNotReadyAddresses && podstate", "podstate",
	},
	{
		"endpointslices", "slices say that Pods that are being deleted are ready",
		"controllers/endpoints/slices_endpoint.go", "serving && !terminating,", "serving,",
	},
	{
		"garbagecollector", "the garbage collector deletes an object although one of its owners stays",
		"controllers/garbagecollector/attempt.go", "case len(solid) > 0:", "case len(solid) > len(waiting):",
	},
	{
		"garbagecollector", "it doesn't ask the API server about an owner that the graph lacks",
		"controllers/garbagecollector/attempt.go", "state == ownerUnknown || state == ownerWaiting", "state == ownerWaiting",
	},
	{
		"elector", "a follower waits for RetryPeriod instead of the holder's LeaseDuration",
		"manager/leaderelection/elector_machine.go", "e.since.Add(e.patience())", "e.since.Add(e.retry)",
	},
	{
		"elector", "a leader counts from a renewal's answer, and not from when it was sent",
		"manager/leaderelection/elector_machine.go", "e.renewed, e.tryAt = e.sent,", "e.renewed, e.tryAt = now,",
	},
	{
		"shards", "a replica gives a namespace away before its reconciles there have ended",
		"manager/sharding/rule.go", ".without(wanted).without(r.works)", ".without(wanted)",
	},
	{
		"shards", "another one takes over after a third of LeaseDuration",
		"manager/sharding/members.go", "s.since.Add(max(patience, s.duration))", "s.since.Add(patience / 3)",
	},
	{
		"shards", "its handlers hear that what goes to another replica was deleted",
		"informer/informer_sink.go", "d.kind, d.unseen = deltaLeft, false", "d.unseen = false",
	},
}

// broken is the file with the mistake in it.
func (m mistake) broken() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.right); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, so this mistake can't be made there: "+
			"change it in internal/simulation/cmd/simulate/mistakes.go", m.file, m.right, n)
	}
	return strings.Replace(string(text), m.right, m.wrong, 1), nil
}

// makeMistakes makes each mistake in a copy, plays until a day shows it, and prints a table.
func (o options) makeMistakes(ctx context.Context, controller string) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	var unseen int
	table := &strings.Builder{}
	out := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "what we broke\tthe first seed that shows it\tthe promise that it breaks")
	for i, m := range mistakes {
		if controller != "" && controller != m.controller {
			continue
		}
		r, err := o.playMistake(ctx, fmt.Sprintf("mistake-%d", i), m)
		if err == nil && r.notPlayed() != "" {
			err = fmt.Errorf("%s: a day wasn't played to its end: %s", m.what, r.notPlayed())
		}
		if err != nil {
			_ = out.Flush()
			fmt.Print("\n", table)
			return err
		}
		if r.failed() == 0 {
			unseen++
			fmt.Fprintf(out, "%s\tnone of %d\t\n", m.what, r.played)
			continue
		}
		fmt.Fprintf(out, "%s\t%d\t%s\n", m.what, r.first(), promiseOf(r.broken[r.first()][0]))
	}
	_ = out.Flush()
	fmt.Print("\n", table)
	if unseen > 0 {
		return fmt.Errorf("no day showed %d of the mistakes: more SEEDS may", unseen)
	}
	return nil
}

func (o options) playMistake(ctx context.Context, name string, m mistake) (row, error) {
	text, err := m.broken()
	if err != nil {
		return row{}, err
	}
	right, err := filepath.Abs(m.file)
	if err != nil {
		return row{}, err
	}
	copied, err := filepath.Abs(filepath.Join(o.dir, name+".go"))
	if err != nil {
		return row{}, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{right: copied}})
	if err != nil {
		return row{}, err
	}
	o.overlay = filepath.Join(o.dir, name+".json")
	for file, content := range map[string]string{copied: text, o.overlay: string(overlay)} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return row{}, err
		}
	}
	for _, s := range stories {
		if s.name != m.controller {
			continue
		}
		fmt.Printf("\n%s: %s\n", s.name, m.what)
		binary, err := o.compile(ctx, s)
		if err != nil {
			return row{}, err
		}
		o.enough = 1
		r := o.play(ctx, s, binary)
		return r, ctx.Err()
	}
	return row{}, fmt.Errorf("no controller is called %q", m.controller)
}
