package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/workqueue"
)

type configMap = corev1.ConfigMap

const (
	stormObjects = 10
	stormChanges = 300 // of all objects together
	stormWorkers = 2
	stormWork    = 15 * time.Millisecond
)

// latest is the newest version of each object that came over the watch, and the
// one that a worker saw last. The mutex guards it.
type latest struct {
	sync.Mutex
	came, worked map[types.NamespacedName]string
	events, work int
}

// storm lets writers, a reader and workers run at once. Its events are too many
// for the timeline, so nothing is recorded.
func storm(ctx context.Context, d *demo.Demo) ([][]string, error) {
	labels := map[string]string{"story": "storm"}
	keys := make([]types.NamespacedName, stormObjects)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: d.Namespace, Name: "storm-" + strconv.Itoa(i)}
		if err := d.Create(ctx, keys[i], labels); err != nil {
			return nil, err
		}
	}
	events, err := d.Follow(ctx, d.Namespace, "story=storm", nil)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	queue := workqueue.New(workqueue.Options[types.NamespacedName]{Name: "storm"})
	state := &latest{came: map[types.NamespacedName]string{}, worked: map[types.NamespacedName]string{}}
	began := time.Now()
	var all sync.WaitGroup
	for range stormWorkers {
		all.Go(func() { work(ctx, queue, state) })
	}
	var read, wrote error
	reader := sync.WaitGroup{}
	reader.Go(func() { read = follow(ctx, events, queue, state) })
	wrote = write(ctx, d, keys)
	reader.Wait()
	// All events are in the queue. The drain ends when they are worked on.
	err = errors.Join(read, wrote, queue.Drain(ctx))
	took := time.Since(began)
	queue.ShutDown()
	all.Wait()
	if err != nil {
		return nil, err
	}
	missed := 0
	for key, version := range state.came {
		if state.worked[key] != version {
			missed++
		}
	}
	// No piece of work is shorter than stormWork, however many events there are.
	most := stormWorkers * int(took/stormWork)
	if missed > 0 || state.work > min(most, state.events) {
		return nil, fmt.Errorf("%d events in %s became %d pieces of work, and %d last changes were missed", state.events, took, state.work, missed)
	}
	d.Say("%d events in %s. In this time, the workers can finish at most %d pieces.", state.events, took.Round(time.Millisecond), most)
	d.Say("Each object was worked on after its last change.")
	return [][]string{{"the storm", strconv.Itoa(state.events), strconv.Itoa(state.work), strconv.Itoa(missed)}}, nil
}

// write makes the changes, from four goroutines.
func write(ctx context.Context, d *demo.Demo, keys []types.NamespacedName) error {
	var writers sync.WaitGroup
	failed := make([]error, 4)
	for w := range failed {
		writers.Go(func() {
			for i := w; i < stormChanges && failed[w] == nil; i += len(failed) {
				_, failed[w] = d.Change(ctx, keys[i%len(keys)], "change", strconv.Itoa(i))
			}
		})
	}
	writers.Wait()
	return errors.Join(failed...)
}

// follow adds the key of each event until all changes have come.
func follow(ctx context.Context, events *demo.Follower, queue *workqueue.Queue[types.NamespacedName], state *latest) error {
	for range stormChanges {
		event, err := events.Next(ctx)
		if err != nil {
			return err
		}
		if event.Type != watch.Modified {
			return fmt.Errorf("the storm has changes only, but %s came", event.Type)
		}
		key := demo.Key(event.Object)
		state.Lock()
		state.events++
		state.came[key] = event.ResourceVersion
		state.Unlock()
		queue.Add(key)
	}
	return nil
}

// region worker

// work is a worker: get, look, do, done, until the queue is shut down.
func work(ctx context.Context, queue *workqueue.Queue[types.NamespacedName], state *latest) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		state.Lock() // look at the newest state, not at what some event said
		state.work++
		state.worked[key] = state.came[key]
		state.Unlock()
		select {
		case <-time.After(stormWork):
		case <-ctx.Done():
		}
		queue.Done(key)
	}
}

// endregion worker
