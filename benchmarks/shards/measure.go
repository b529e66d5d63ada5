package shards

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
)

// Options say what to measure.
type Options struct {
	Objects, Namespaces int
	Replicas            []int
	Work                time.Duration // what a reconcile waits for
	LeaseDuration       time.Duration
	Limit               time.Duration // of each row
	Log                 io.Writer     // gets what is being done
}

// Row is what some replicas have done and needed. Costs are those of the replica that needed most.
type Row struct {
	Gate       bool
	Replicas   int
	Everything time.Duration // from the start of the processes until all objects were reconciled
	PerSecond  float64       // reconciles of all replicas, between a tenth and nine tenths of the objects
	CPU        time.Duration // until then, with the changes
	Peak       int64         // memory until then
	Steady     int64         // memory after that, when what isn't needed was given back
	Received   int64         // bytes until then
	Changed    int           // how many objects were changed then
	OfChanges  int64         // bytes that came with the changes
	Takeover   time.Duration // from the death of a replica until its objects were reconciled again
}

// Measure starts an API server with the gate and one without it, and measures all numbers of replicas
// on each. It calls done after each row.
func Measure(ctx context.Context, o Options, done func(Row)) error {
	for _, gate := range []bool{true, false} {
		if err := o.measureOn(ctx, gate, done); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) say(format string, args ...any) { _, _ = fmt.Fprintf(o.Log, format+"\n", args...) }

func (o Options) measureOn(ctx context.Context, gate bool, done func(Row)) (err error) {
	on, err := cluster.Up(ctx, cluster.Options{
		Ephemeral: true, Out: o.Log, Parts: []cluster.Part{cluster.Etcd, cluster.APIServer},
		Arguments: func(part cluster.Part, line []string) ([]string, error) {
			if part == cluster.APIServer {
				line = append(line, fmt.Sprintf("--feature-gates=ShardedListAndWatch=%t", gate))
			}
			return line, nil
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, on.Down(context.WithoutCancel(ctx))) }()
	config := on.RESTConfig()
	config.QPS = -1
	live, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	w := &world{Options: o, live: live, kubeconfig: on.Kubeconfig}
	if err := w.fill(ctx); err != nil {
		return err
	}
	for _, replicas := range o.Replicas {
		o.say("%d replicas, gate %t", replicas, gate)
		limited, cancel := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("it took longer than %s", o.Limit))
		row, err := w.measure(limited, replicas)
		cancel()
		if err != nil {
			return fmt.Errorf("%d replicas, gate %t: %w", replicas, gate, err)
		}
		row.Gate = gate
		done(row)
	}
	return nil
}

// world is an API server with the objects.
type world struct {
	Options
	live       kubernetes.Interface
	kubeconfig string
}

// each is how many objects a namespace has.
func (w *world) each() int { return (w.Objects + w.Namespaces - 1) / w.Namespaces }

// inParallel does something for the numbers below count.
func (w *world) inParallel(ctx context.Context, what string, count int, do func(number int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	numbers := make(chan int) // sent and closed here
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for number := range numbers {
				if err := do(number); err != nil {
					stop(err)
				}
			}
		})
	}
	said := time.Now()
	for number := 0; number < count && ctx.Err() == nil; number++ {
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			w.say("    %s: %d of %d", what, number, count)
		}
		numbers <- number
	}
	close(numbers)
	writers.Wait()
	return context.Cause(ctx)
}

func (w *world) fill(ctx context.Context) error {
	w.say("creating %d objects in %d namespaces", w.Objects, w.Namespaces)
	err := w.inParallel(ctx, "namespaces", w.Namespaces, func(number int) error {
		_, err := w.live.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(number)}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return w.inParallel(ctx, "objects", w.Objects, func(number int) error {
		_, err := w.live.CoreV1().ConfigMaps(w.namespaceOf(number)).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: nameOf(number), Labels: ours},
			Data:       map[string]string{"text": strings.Repeat("x", 1000)},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // an answer was lost, and the client has tried again
			return nil
		}
		return err
	})
}

func (w *world) namespaceOf(object int) string { return namespaceOf(object / w.each()) }

// measure starts the replicas, changes something when all is reconciled, and then kills one of them.
func (w *world) measure(ctx context.Context, replicas int) (row Row, err error) {
	t := &team{say: w.say, tally: newTally(w.Objects)}
	defer func() { t.kill(t.members...) }()
	begin := time.Now()
	for range replicas {
		err := t.start(Replica{
			Kubeconfig: w.kubeconfig, ID: fmt.Sprintf("bench-%d-%d", os.Getpid(), replicas),
			Work: w.Work, LeaseDuration: w.LeaseDuration, Objects: w.Objects,
		})
		if err != nil {
			return row, err
		}
	}
	early, earlyAt, err := t.wait(ctx, "everything", w.Objects*9/10)
	if err != nil {
		return row, err
	}
	late, lateAt, err := t.wait(ctx, "everything", w.Objects/10)
	if err != nil {
		return row, err
	}
	_, at, err := t.wait(ctx, "everything", 0)
	if err != nil {
		return row, err
	}
	row = Row{Replicas: replicas, Everything: at.Sub(begin)}
	row.PerSecond = float64(late-early) / lateAt.Sub(earlyAt).Seconds()
	if late == early { // one report had it all
		row.PerSecond = float64(late) / row.Everything.Seconds()
	}
	w.say("    everything was reconciled after %.1f s", row.Everything.Seconds())
	if err := w.settle(ctx, t); err != nil {
		return row, err
	}
	before := t.costs()
	row.Received = most(before, func(r report) int64 { return r.Received })

	row.Changed = max(w.Objects/50, 1)
	if err := w.change(ctx, t, row.Changed); err != nil {
		return row, err
	}
	if err := w.settle(ctx, t); err != nil {
		return row, err
	}
	after := t.costs()
	for i, r := range after {
		row.OfChanges = max(row.OfChanges, r.Received-before[i].Received)
	}
	row.CPU = time.Duration(most(after, func(r report) int64 { return r.CPU }))
	row.Peak = most(after, func(r report) int64 { return r.Peak })
	tidied, err := w.tidy(ctx, t)
	if err != nil {
		return row, err
	}
	row.Steady = most(tidied, func(r report) int64 { return r.Resident })
	if replicas > 1 {
		row.Takeover, err = w.takeover(ctx, t)
	}
	return row, err
}

// settle waits until there are no more reconciles. A namespace that changes hands causes some.
func (w *world) settle(ctx context.Context, t *team) error {
	quiet := max(w.LeaseDuration/2, 2*time.Second)
	_, last, err := t.left()
	for since := time.Now(); err == nil && time.Since(since) < quiet; {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting for quiet: %w", context.Cause(ctx))
		}
		var now int
		if _, now, err = t.left(); now != last {
			last, since = now, time.Now()
		}
	}
	return err
}

// tidy returns what the replicas say after they have given back the memory that they don't need.
func (w *world) tidy(ctx context.Context, t *team) ([]report, error) {
	for _, m := range t.members {
		if err := m.command.Process.Signal(tidy); err != nil {
			return nil, err
		}
	}
	err := w.settle(ctx, t)
	return t.costs(), err
}

// change changes some objects, evenly from all namespaces, and waits until they're reconciled.
func (w *world) change(ctx context.Context, t *team, count int) error {
	step := w.Objects / count
	t.mu.Lock()
	t.tally.await(func(object int) bool { return object%step == 0 && object/step < count })
	t.mu.Unlock()
	err := w.inParallel(ctx, "changes", count, func(number int) error {
		object := number * step
		_, err := w.live.CoreV1().ConfigMaps(w.namespaceOf(object)).Patch(ctx, nameOf(object), types.MergePatchType,
			[]byte(fmt.Sprintf(`{"data":{"changed":"%d"}}`, time.Now().UnixNano())), metav1.PatchOptions{})
		return err
	})
	if err == nil {
		_, _, err = t.wait(ctx, "changes", 0)
	}
	return err
}

// takeover kills a replica, and waits until others have reconciled what it had.
func (w *world) takeover(ctx context.Context, t *team) (time.Duration, error) {
	victim := t.members[len(t.members)-1]
	t.kill(victim)
	begin := time.Now()
	t.mu.Lock()
	t.tally.await(func(object int) bool { return t.tally.last[object] == len(t.members)-1 })
	open := t.tally.open
	t.mu.Unlock()
	w.say("    a replica was killed, which had %d objects", open)
	if open == 0 {
		return 0, fmt.Errorf("the replica that was killed had nothing, so there's nothing to measure")
	}
	_, at, err := t.wait(ctx, "takeover", 0)
	return at.Sub(begin), err
}

func most(all []report, of func(report) int64) int64 {
	var values []int64
	for _, r := range all {
		values = append(values, of(r))
	}
	return slices.Max(values)
}
