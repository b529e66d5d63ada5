// Command 06-dedup-queue shows how a queue turns a storm of events into a few
// pieces of work: dirty, processing, Done, drain.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/workqueue"
)

func main() { demo.Main("Chapter 6: the deduplicating queue", story) }

// selected are the labels of the ConfigMaps of the story.
var selected = map[string]string{"story": "fruit"}

const selector = "story=fruit"

// stage is what the steps share.
type stage struct {
	*demo.Demo
	events *demo.Follower
	queue  *workqueue.Queue[types.NamespacedName]

	seen, worked int
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	events, err := d.Follow(ctx, d.Namespace, selector, d.Recorder)
	if err != nil {
		return err
	}
	defer events.Close()
	s := &stage{Demo: d, events: events, queue: workqueue.New(workqueue.Options[types.NamespacedName]{
		Recorder: d.Recorder, Key: demo.SplitKey, Kind: "ConfigMap",
	})}
	if err := d.Step("1. Nine events, three items", func() error { return s.pileUp(ctx) }); err != nil {
		return err
	}
	if err := d.Step("2. Three pieces of work", func() error { return s.workOff(ctx) }); err != nil {
		return err
	}
	if err := d.Step("3. A change comes while a worker is at it", func() error { return s.changeDuringWork(ctx) }); err != nil {
		return err
	}
	var rows [][]string
	err = d.Step("4. A storm: 300 changes of 10 ConfigMaps, two workers, 15 ms a piece", func() (err error) {
		rows, err = storm(ctx, d)
		return err
	})
	if err != nil {
		return err
	}
	d.Table("What became of the events", append([][]string{
		{"", "events", "pieces of work", "last change missed"},
		{"step by step", strconv.Itoa(s.seen), strconv.Itoa(s.worked), "0"},
	}, rows...)...)
	return nil
}

// enqueue reads events and adds the key of each: all that a handler does.
func (s *stage) enqueue(ctx context.Context, events int) error {
	for range events {
		event, err := s.events.Next(ctx)
		if err != nil {
			return err
		}
		s.seen++
		s.queue.AddBecause(demo.Key(event.Object), reason(event))
	}
	return nil
}

func reason(event informer.Event[*configMap]) string { return string(event.Type) }

// pileUp changes three objects three times while no worker is there.
func (s *stage) pileUp(ctx context.Context) error {
	for round := range 3 {
		for _, name := range []string{"apple", "banana", "cherry"} {
			if err := errors.Join(s.write(ctx, name, round), s.enqueue(ctx, 1)); err != nil {
				return err
			}
		}
	}
	s.Say("Nine events came. %d keys wait: an item that waits already is not put in again.", s.queue.Len())
	return nil
}

func (s *stage) write(ctx context.Context, name string, round int) error {
	key := types.NamespacedName{Namespace: s.Namespace, Name: name}
	if round == 0 {
		return s.Create(ctx, key, selected)
	}
	_, err := s.Change(ctx, key, "round", strconv.Itoa(round))
	return err
}

// workOff is one worker.
func (s *stage) workOff(ctx context.Context) error {
	for s.queue.Len() > 0 {
		work, err := s.queue.Next(ctx)
		if err != nil {
			return err
		}
		s.worked++
		s.queue.Done(work.Item)
		s.Say("%s: one piece of work, for %s.", work.Item.Name, work.Causes)
	}
	return nil
}

// changeDuringWork changes an object after a worker has looked at it.
func (s *stage) changeDuringWork(ctx context.Context) error {
	if err := errors.Join(s.write(ctx, "apple", 3), s.enqueue(ctx, 1)); err != nil {
		return err
	}
	apple, err := s.queue.Next(ctx)
	if err != nil {
		return err
	}
	s.worked++
	s.Say("The worker reads the apple, and begins. Now the apple changes, twice:")
	for round := range 2 {
		if err := errors.Join(s.write(ctx, "apple", 4+round), s.enqueue(ctx, 1)); err != nil {
			return err
		}
	}
	s.Say("%d items are ready: nobody else gets the apple while this worker holds it.", s.queue.Len())
	s.queue.Done(apple.Item)
	s.Say("%d item is ready: the worker may have looked before the changes, so the apple waits again, once.", s.queue.Len())
	if err := s.workOff(ctx); err != nil {
		return err
	}
	s.queue.ShutDownWithDrain()
	if _, err := s.queue.Next(ctx); !errors.Is(err, workqueue.ErrShutDown) {
		return fmt.Errorf("the queue was drained, but Next returned: %w", err)
	}
	return nil
}
