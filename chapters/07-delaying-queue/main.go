// Command 07-delaying-queue shows a queue that can wait: food that expires is
// thrown away when it has expired, not earlier, and nobody polls.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/workqueue"
)

func main() { demo.Main("Chapter 7: the delaying queue", story) }

// kitchen is what the steps share: ConfigMaps are food, whose data says for how
// long it keeps.
type kitchen struct {
	*demo.Demo
	events *demo.Follower
	queue  *workqueue.DelayingQueue[types.NamespacedName]

	asked, thrown, early int
	late                 time.Duration // how late the latest was
	due                  map[string]time.Time
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	events, err := d.Follow(ctx, d.Namespace, "story=food", nil)
	if err != nil {
		return err
	}
	defer events.Close()
	k := &kitchen{Demo: d, events: events, due: map[string]time.Time{}, queue: workqueue.NewDelaying(
		workqueue.Options[types.NamespacedName]{Recorder: d.Recorder, Key: demo.SplitKey, Kind: "ConfigMap"})}
	defer k.queue.ShutDown()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Four objects, one timer", k.shop},
		{"2. An add does not end an alarm", k.look},
		{"3. The earliest wins", k.earliest},
		{"4. Replaced, and cancelled", k.replace},
		{"5. A shutdown", k.close},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	if k.late > 20*time.Second {
		return fmt.Errorf("an item came %s late", k.late)
	}
	d.Table("What the queue did",
		[]string{"alarms asked for", "items thrown away", "came too early", "dropped at the shutdown"},
		[]string{strconv.Itoa(k.asked), strconv.Itoa(k.thrown), strconv.Itoa(k.early), strconv.Itoa(k.queue.Dropped())})
	if k.early > 0 {
		return fmt.Errorf("%d items came too early", k.early)
	}
	return nil
}

func (k *kitchen) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: name}
}

// keeps writes how long a food keeps, and reads the event of the write.
func (k *kitchen) keeps(ctx context.Context, name string, long time.Duration) (time.Duration, error) {
	if _, err := k.Change(ctx, k.key(name), "keeps", long.String()); err != nil {
		return 0, err
	}
	event, err := k.events.Next(ctx)
	if err != nil {
		return 0, err
	}
	k.asked++
	return time.ParseDuration(event.Object.Data["keeps"])
}

// addAfter sets the alarm of a food to the moment at which it expires.
func (k *kitchen) addAfter(ctx context.Context, name string, long time.Duration) error {
	long, err := k.keeps(ctx, name, long)
	if err != nil {
		return err
	}
	if at := time.Now().Add(long); k.due[name].IsZero() || at.Before(k.due[name]) {
		k.due[name] = at
	}
	k.queue.AddAfter(k.key(name), long)
	return nil
}

// throwAway waits for the next item and deletes the object.
func (k *kitchen) throwAway(ctx context.Context, expected string) error {
	work, err := k.queue.Next(ctx)
	if err != nil {
		return err
	}
	name := work.Item.Name
	late := time.Since(k.due[name])
	if name != expected {
		return fmt.Errorf("%s came, and %s was expected", name, expected)
	}
	if late < 0 {
		k.early++
	}
	k.late = max(k.late, late)
	k.thrown++
	err = k.Client.CoreV1().ConfigMaps(k.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	k.queue.Done(work.Item)
	if err != nil {
		return fmt.Errorf("deleting ConfigMap %s: %w", name, err)
	}
	event, err := k.events.Next(ctx)
	if err == nil && event.Type != watch.Deleted {
		err = fmt.Errorf("%s was deleted, but the event is %s", name, event.Type)
	}
	k.Say("The %s has expired, and was thrown away.", name)
	return err
}

func (k *kitchen) shop(ctx context.Context) error {
	for _, name := range []string{"bread", "milk", "honey", "fish"} {
		if err := k.Create(ctx, k.key(name), map[string]string{"story": "food"}); err != nil {
			return err
		}
		if _, err := k.events.Next(ctx); err != nil {
			return err
		}
	}
	err := errors.Join(k.addAfter(ctx, "bread", 6*time.Second), k.addAfter(ctx, "milk", 2*time.Second),
		k.addAfter(ctx, "honey", time.Hour), k.addAfter(ctx, "fish", 4*time.Second))
	if err != nil {
		return err
	}
	k.Say("%d alarms are pending. The timer is set to that of the milk.", k.queue.Delayed())
	return k.throwAway(ctx, "milk")
}

// look has a worker look at the fish before its time.
func (k *kitchen) look(ctx context.Context) error {
	if _, err := k.Change(ctx, k.key("fish"), "shelf", "upper"); err != nil {
		return err
	}
	if _, err := k.events.Next(ctx); err != nil {
		return err
	}
	k.queue.Add(k.key("fish"))
	work, err := k.queue.Next(ctx)
	if err != nil {
		return err
	}
	k.Say("Somebody moved the fish, so a worker looks at it. It still keeps: there is nothing to do.")
	k.queue.Done(work.Item)
	k.Say("%d alarms are pending: the fish still has its own.", k.queue.Delayed())
	return nil
}

func (k *kitchen) earliest(ctx context.Context) error {
	if err := k.addAfter(ctx, "fish", time.Minute); err != nil {
		return err
	}
	k.Say("Somebody relies on the earlier moment of the fish, so that one counts.")
	if err := k.addAfter(ctx, "honey", 300*time.Millisecond); err != nil {
		return err
	}
	k.Say("Ants! The honey is due before all the others now.")
	return errors.Join(k.throwAway(ctx, "honey"), k.throwAway(ctx, "fish"))
}

func (k *kitchen) replace(ctx context.Context) error {
	long, err := k.keeps(ctx, "bread", 3*time.Second)
	if err != nil {
		return err
	}
	k.due["bread"] = time.Now().Add(long)
	k.queue.ReplaceAfter(k.key("bread"), long)
	k.Say("The bread is toasted. Its old moment no longer counts.")
	if err := k.throwAway(ctx, "bread"); err != nil {
		return err
	}
	if err := errors.Join(k.buy(ctx, "ice"), k.addAfter(ctx, "ice", 5*time.Second)); err != nil {
		return err
	}
	k.Say("The ice goes into the freezer. Its alarm was cancelled: %t.", k.queue.Cancel(k.key("ice")))
	return nil
}

// buy makes one more food.
func (k *kitchen) buy(ctx context.Context, name string) error {
	if err := k.Create(ctx, k.key(name), map[string]string{"story": "food"}); err != nil {
		return err
	}
	_, err := k.events.Next(ctx)
	return err
}

func (k *kitchen) close(ctx context.Context) error {
	for _, name := range []string{"rice", "salt"} {
		if err := errors.Join(k.buy(ctx, name), k.addAfter(ctx, name, 1000*time.Hour)); err != nil {
			return err
		}
	}
	k.queue.ShutDownWithDrain()
	k.Say("The drain did not wait for the rice. The next process lists everything, and sets the alarms again.")
	return nil
}
