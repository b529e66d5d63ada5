// Command 09-priority-fairness shows what a queue can do about order: the changes
// of users overtake an initial list, a resync gets through under constant changes, and
// a noisy namespace does not delay a quiet one.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/workqueue"
)

func main() { demo.Main("Chapter 9: priority and fairness", story) }

type key = types.NamespacedName

const (
	objects = 200 // in the list
	users   = 5   // changes by users
)

var labels = map[string]string{"story": "rollout"}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("the demo took longer than 3 minutes"))
	defer cancel()
	var rows [][]string
	for _, step := range []struct {
		headline string
		play     func(context.Context, *demo.Demo) ([][]string, error)
	}{
		{"1. Users overtake an initial list", rollout},
		{"2. A resync gets through all the same", pressure},
		{"3. A noisy namespace and a quiet one", neighbours},
	} {
		err := d.Step(step.headline, func() error {
			more, err := step.play(ctx, d)
			rows = append(rows, more...)
			return err
		})
		if err != nil {
			return err
		}
	}
	d.Table("Which turn was it?", append([][]string{{"", "first-in first-out", "priority and fairness"}}, rows...)...)
	return nil
}

// queues are the two that every step compares. Only the second is recorded.
func queues(d *demo.Demo, group func(key) string) (plain *workqueue.Queue[key], fair *workqueue.PriorityQueue[key]) {
	return workqueue.New(workqueue.Options[key]{}), workqueue.NewPriority(workqueue.PriorityOptions[key]{
		Options: workqueue.Options[key]{Recorder: d.Recorder, Key: demo.SplitKey, Kind: "ConfigMap"},
		Group:   group,
	})
}

// anyQueue is a queue of either kind, as a worker sees it.
type anyQueue interface {
	Get() (key, bool)
	Done(key)
}

// turnsUntil takes items until a wanted one comes out, and returns how many it took.
func turnsUntil(q anyQueue, wanted func(key) bool) int {
	for n := 1; ; n++ {
		item, shutdown := q.Get()
		if shutdown {
			return -1
		}
		q.Done(item)
		if wanted(item) {
			return n
		}
	}
}

// rollout lists 200 ConfigMaps, as a controller does when it starts, and has users
// change five of them while they wait.
func rollout(ctx context.Context, d *demo.Demo) ([][]string, error) {
	for i := range objects {
		if err := d.Create(ctx, key{Namespace: d.Namespace, Name: fmt.Sprintf("web-%03d", i)}, labels); err != nil {
			return nil, err
		}
	}
	events, err := d.Follow(ctx, d.Namespace, "story=rollout", nil)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	plain, _ := queues(d, nil)
	// Two hundred adds are too many for a timeline: this queue is not recorded.
	fair := workqueue.NewPriority(workqueue.PriorityOptions[key]{})
	low := workqueue.LowPriority
	for _, object := range events.Listed {
		plain.Add(demo.Key(object))
		fair.AddWithOpts(workqueue.AddOpts{Priority: &low, Reason: "initial list"}, demo.Key(object))
	}
	d.Say("%d objects were listed. Nobody says that they changed: they are added with priority %d.", fair.Len(), low)
	changed := map[key]bool{}
	for i := range users {
		k := key{Namespace: d.Namespace, Name: fmt.Sprintf("web-%03d", objects-1-i)}
		if _, err := d.Change(ctx, k, "image", "v2"); err != nil {
			return nil, err
		}
		event, err := events.Next(ctx)
		if err != nil {
			return nil, err
		}
		changed[demo.Key(event.Object)] = true
		plain.Add(demo.Key(event.Object))
		fair.AddWithOpts(workqueue.AddOpts{Reason: "changed by a user"}, demo.Key(event.Object))
	}
	d.Say("Users changed the last %d. They were waiting already; now they are raised to priority 0.", users)
	work, err := fair.Next(ctx)
	if err != nil {
		return nil, err
	}
	fair.Done(work.Item)
	d.Say("The first to be worked on is %s, for: %s.", work.Item.Name, work.Causes)
	last := func(q anyQueue, left int) (at int) {
		for ; left > 0; left-- {
			at += turnsUntil(q, func(k key) bool { return changed[k] })
		}
		return at
	}
	inPlain, inFair := last(plain, users), 1+last(fair, users-1)
	if inPlain != objects || inFair != users {
		return nil, fmt.Errorf("the last change was worked on as number %d and %d", inPlain, inFair)
	}
	return [][]string{{"the last of five changes by users", strconv.Itoa(inPlain), strconv.Itoa(inFair)}}, nil
}

// pressure changes an object for each that is worked on, so that there is always
// something that matters more. It ends when the resync had its turn in both queues.
func pressure(ctx context.Context, d *demo.Demo) ([][]string, error) {
	events, err := d.Follow(ctx, d.Namespace, "story=rollout", nil)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	plain := workqueue.New(workqueue.Options[key]{})
	fair := workqueue.NewPriority(workqueue.PriorityOptions[key]{})
	low, resynced := workqueue.LowPriority, demo.Key(events.Listed[0])
	plain.Add(resynced)
	fair.AddWithOpts(workqueue.AddOpts{Priority: &low, Reason: "resync"}, resynced)
	inPlain, inFair := 0, 0 // when it had its turn
	for n := 1; n <= 100 && (inPlain == 0 || inFair == 0); n++ {
		if _, err := d.Change(ctx, key{Namespace: d.Namespace, Name: fmt.Sprintf("web-%03d", 1+n%2)}, "change", strconv.Itoa(n)); err != nil {
			return nil, err
		}
		event, err := events.Next(ctx)
		if err != nil {
			return nil, err
		}
		plain.Add(demo.Key(event.Object))
		fair.Add(demo.Key(event.Object))
		if workOn(plain) == resynced {
			inPlain = n
		}
		if workOn(fair) == resynced {
			inFair = n
		}
	}
	if inPlain == 0 || inFair == 0 {
		return nil, errors.New("the resync was still waiting after 100 changes")
	}
	d.Say("%d changes by users came first. Then it was the resync's turn, although another change was waiting.", inFair-1)
	return [][]string{{"a resync under constant changes", strconv.Itoa(inPlain), strconv.Itoa(inFair)}}, nil
}

// workOn takes the next item, which must be there, and is done with it.
func workOn(q anyQueue) key {
	item, _ := q.Get()
	q.Done(item)
	return item
}

// neighbours are two namespaces: in one a script makes eight objects, in the other a
// user makes one.
func neighbours(ctx context.Context, d *demo.Demo) ([][]string, error) {
	made, err := d.AddNamespace(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace + "-b"}})
	if err != nil {
		return nil, err
	}
	plain, fair := queues(d, func(k key) string { return k.Namespace })
	add := func(namespace, selector string, n int) error {
		events, err := d.Follow(ctx, namespace, "story="+selector, nil)
		if err != nil {
			return err
		}
		defer events.Close()
		for i := range n {
			if err := d.Create(ctx, key{Namespace: namespace, Name: fmt.Sprintf("%s-%d", selector, i)}, map[string]string{"story": selector}); err != nil {
				return err
			}
			event, err := events.Next(ctx)
			if err != nil {
				return err
			}
			plain.Add(demo.Key(event.Object))
			fair.AddBecause(demo.Key(event.Object), string(event.Type))
		}
		return nil
	}
	if err := errors.Join(add(d.Namespace, "noisy", 8), add(made.Name, "quiet", 1)); err != nil {
		return nil, err
	}
	quiet := func(k key) bool { return k.Namespace == made.Name }
	inPlain, inFair := turnsUntil(plain, quiet), turnsUntil(fair, quiet)
	if inFair != 2 {
		return nil, fmt.Errorf("the quiet namespace was served as number %d", inFair)
	}
	d.Say("The namespaces take turns. The quiet one waited for one item of the noisy one, not for eight.")
	return [][]string{{"the one object of the quiet namespace", strconv.Itoa(inPlain), strconv.Itoa(inFair)}}, nil
}
