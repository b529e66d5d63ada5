// Command 04-delta-queue puts a delta queue between a watch and a copy, lets the
// copy fall behind, and makes a tombstone visible.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Chapter 4: the delta queue and tombstones", story) }

// tour is a watch, a queue and a copy, each of which moves when it is told to.
type tour struct {
	*demo.Demo
	feed  *feed
	queue *informer.DeltaQueue[*corev1.ConfigMap]
	copy  *informer.Store[*corev1.ConfigMap]
	batch informer.Batch[*corev1.ConfigMap]
	rows  [][]string
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()

	copy := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	queue := informer.NewDeltaQueue(copy, informer.DeltaQueueOptions{Recorder: d.Recorder, Kind: "ConfigMap"})
	feed, err := newFeed(d, queue)
	if err != nil {
		return err
	}
	defer feed.close()
	t := &tour{Demo: d, feed: feed, queue: queue, copy: copy}
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. The first list", t.begin},
		{"2. The copy does not look for a while", t.fallBehind},
		{"3. A deletion that nobody saw: the tombstone", t.vanish},
		{"4. All of it again: a resync", t.resync},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Table("What went in, and what came out", append([][]string{{"step", "writes", "events queued", "deltas"}}, t.rows...)...)
	return nil
}

// apply takes all that is pending, and brings the copy up to date.
func (t *tour) apply() (deltas int) {
	for t.queue.Pop(&t.batch) {
		for _, delta := range t.batch.Deltas {
			deltas++
			t.Say("%s", describe(delta))
			if delta.Type == informer.DeltaDeleted {
				t.copy.Delete(delta.Key)
			} else {
				t.copy.Put(delta.Object)
			}
		}
		if t.batch.ResourceVersion != "" {
			t.Say("The copy is as the server was at resourceVersion %s.", t.batch.ResourceVersion)
		}
	}
	return deltas
}

func describe(delta informer.Delta[*corev1.ConfigMap]) string {
	text := fmt.Sprintf("%-8s %-7s", delta.Type, delta.Key.Name)
	switch {
	case delta.Type == informer.DeltaUpdated:
		text += fmt.Sprintf(" bites %s -> %s", bites(delta.Old), bites(delta.Object))
	default:
		text += " bites " + bites(delta.Object)
	}
	switch {
	case delta.Initial:
		text += ", initial"
	case delta.FinalStateUnknown:
		text += ", final state unknown"
	}
	return text
}

func bites(fruit *corev1.ConfigMap) string { return fruit.Data["bites"] }

func (t *tour) begin(ctx context.Context) error {
	for _, name := range []string{"apple", "banana", "cherry"} {
		if err := t.create(ctx, name); err != nil {
			return err
		}
	}
	if err := t.feed.list(ctx); err != nil {
		return err
	}
	t.account("the first list", 3, 0)
	return nil
}

// fallBehind lets the watch go on while nobody takes anything out of the queue.
func (t *tour) fallBehind(ctx context.Context) error {
	for range 5 {
		if err := t.bite(ctx, "apple"); err != nil {
			return err
		}
	}
	for _, do := range []func() error{
		func() error { return t.create(ctx, "date") },
		func() error { return t.delete(ctx, "date") },
		func() error { return t.bite(ctx, "cherry") },
		func() error { return t.delete(ctx, "cherry") },
		func() error { return t.create(ctx, "cherry") },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	if err := t.feed.read(ctx, 10); err != nil {
		return err
	}
	t.Say("10 events went in; %d keys are in the queue. Now the copy looks:", t.queue.Len())
	t.account("falling behind", 10, 10)
	return nil
}

// vanish deletes while there is no watch, and after the server has forgotten.
func (t *tour) vanish(ctx context.Context) error {
	t.feed.close()
	t.Say("The connection is cut. The banana is bitten into twice, and deleted. The apple is deleted, and another one made.")
	for _, do := range []func() error{
		func() error { return t.bite(ctx, "banana") },
		func() error { return t.bite(ctx, "banana") },
		func() error { return t.delete(ctx, "banana") },
		func() error { return t.delete(ctx, "apple") },
		func() error { return t.create(ctx, "apple") },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	t.Say("The reader comes back too late for the history, and lists again:")
	if err := t.feed.list(ctx); err != nil {
		return err
	}
	t.account("behind its back", 5, 0)
	t.Say("The banana's tombstone says 0 bites. It had 2 at its end; nobody here can know that.")
	t.Say("The list shows an apple, as before. Its UID shows that it is another one.")
	return nil
}

func (t *tour) resync(context.Context) error {
	t.queue.Resync()
	t.account("a resync", 0, 0)
	return nil
}

func (t *tour) account(step string, writes, events int) {
	deltas := t.apply()
	t.rows = append(t.rows, []string{step, strconv.Itoa(writes), strconv.Itoa(events), strconv.Itoa(deltas)})
}

func (t *tour) create(ctx context.Context, name string) error {
	_, err := t.Client.CoreV1().ConfigMaps(t.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"story": "fruit"}},
		Data:       map[string]string{"bites": "0"},
	}, metav1.CreateOptions{})
	return wrap(err, "creating", name)
}

func (t *tour) bite(ctx context.Context, name string) error {
	configMaps := t.Client.CoreV1().ConfigMaps(t.Namespace)
	fruit, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		so, _ := strconv.Atoi(bites(fruit))
		fruit.Data["bites"] = strconv.Itoa(so + 1)
		_, err = configMaps.Update(ctx, fruit, metav1.UpdateOptions{})
	}
	return wrap(err, "biting into", name)
}

func (t *tour) delete(ctx context.Context, name string) error {
	return wrap(t.Client.CoreV1().ConfigMaps(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{}), "deleting", name)
}

func wrap(err error, doing, name string) error {
	if err != nil {
		return fmt.Errorf("%s ConfigMap %s: %w", doing, name, err)
	}
	return nil
}
