package informer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Run keeps the store up to date until the context ends, and returns nil then,
// whatever ended it. It returns an error only if the reflector gives up, see
// ReflectorOptions.GiveUp. It waits for calls of handlers that are under way, and may
// be called once.
func (i *Informer[T]) Run(ctx context.Context) error {
	i.mu.Lock()
	ran := i.running
	i.running = true
	i.mu.Unlock()
	if ran {
		return errInformerRan
	}
	ctx, cancel := context.WithCancel(ctx)
	var reflector, listeners sync.WaitGroup
	var failure error
	reflector.Go(func() {
		defer cancel()
		err := i.reflector.Run(ctx)
		if cause := context.Cause(ctx); cause == nil || !errors.Is(err, cause) {
			failure = err
		}
	})
	i.loop(ctx, &listeners)
	cancel()
	reflector.Wait()
	i.turnAway()
	close(i.stopping) // before the handlers are waited for, because one of them may wait for this
	listeners.Wait()
	i.mutations.checkAll()
	return failure
}

// loop is the only one who writes to the store, and who knows the listeners. So a
// listener that joins sees the store between two batches: what it is told of what
// there is, and what comes later, fit together without a lock.
func (i *Informer[T]) loop(ctx context.Context, running *sync.WaitGroup) {
	var batch Batch[T]
	resync := time.NewTimer(time.Hour)
	defer resync.Stop()
	for {
		i.takeIn(ctx, running)
		i.resyncDue(resync)
		if i.queue.Pop(&batch) {
			i.apply(&batch)
			if ctx.Err() == nil {
				continue
			}
		}
		select {
		case <-i.queue.Ready():
		case <-i.changed:
		case <-resync.C:
		case <-ctx.Done():
			return
		}
	}
}

// apply brings the store up to date, and then tells the listeners. In this order: a
// handler that looks into the store must find what it was told of.
func (i *Informer[T]) apply(batch *Batch[T]) {
	i.slots = i.slots[:0]
	for n := range batch.Deltas {
		delta := &batch.Deltas[n]
		switch delta.Type {
		case DeltaSync:
			i.slots = append(i.slots, i.store.slotOf(delta.Key))
			continue
		case DeltaDeleted:
			i.slots = append(i.slots, i.store.slotOf(delta.Key)) // that it had
			i.store.Delete(delta.Key)
			if i.mutations.on() {
				i.mutations.drop(delta.Key)
			}
		default:
			i.store.Put(delta.Object)
			i.slots = append(i.slots, i.store.slotOf(delta.Key))
			if i.mutations.on() {
				i.mutations.keep(delta.Key, delta.Object)
			}
		}
		i.catchup.saw(delta.Key, delta.Object.GetResourceVersion())
	}
	if batch.ResourceVersion != "" {
		i.catchup.arrived(batch.ResourceVersion)
	}
	for _, l := range i.listeners {
		l.push(batch.Deltas, i.slots, batch.Synced)
	}
	if batch.Resynced {
		i.resyncing = false
		for _, l := range i.listeners {
			l.resyncing = false
		}
	}
	if batch.Synced && !i.isSynced {
		i.isSynced = true
		close(i.synced)
		if i.options.Recorder.On() {
			i.options.Recorder.Record(trace.Event{Kind: trace.Synced, Layer: "informer", Object: i.about.kind, Count: i.store.Len()})
		}
	}
}

// takeIn starts the listeners that have come, and forgets those that were removed.
func (i *Informer[T]) takeIn(ctx context.Context, running *sync.WaitGroup) {
	i.mu.Lock()
	joining := i.joining
	i.joining = nil
	i.mu.Unlock()
	for _, l := range joining {
		if l.options.Resync > 0 {
			l.next = time.Now().Add(l.options.Resync)
		}
		var there []Delta[T]
		i.slots = i.slots[:0]
		for object := range i.store.All() {
			there = append(there, Delta[T]{Type: DeltaAdded, Key: KeyOf(object), Object: object, Initial: true})
			i.slots = append(i.slots, i.store.slotOf(KeyOf(object)))
		}
		l.push(there, i.slots, i.isSynced)
		i.listeners = append(i.listeners, l)
		running.Go(func() {
			defer i.wake() // so that it is forgotten, also if its handler ends the goroutine
			l.run(ctx)
		})
	}
	i.listeners = slices.DeleteFunc(i.listeners, func(l *listener[T]) bool { return l.stopped(ctx) })
}

// turnAway ends the handlers that came too late.
func (i *Informer[T]) turnAway() {
	i.mu.Lock()
	late := i.joining
	i.ended, i.joining = true, nil
	i.mu.Unlock()
	for _, l := range late {
		l.end()
	}
}

// resyncDue asks for a resync if a listener is due, and sets the timer for the
// next one. While one is under way, who is due waits for its end, and so does not
// miss the first half.
func (i *Informer[T]) resyncDue(timer *time.Timer) {
	if i.resyncing {
		return // the batch that ends it brings the loop here again
	}
	now := time.Now()
	var next time.Time
	for _, l := range i.listeners {
		if l.next.IsZero() {
			continue
		}
		if !l.next.After(now) {
			l.resyncing, l.next = true, now.Add(l.options.Resync)
			i.resyncing = true
			if i.options.Recorder.On() {
				i.options.Recorder.Record(trace.Event{Kind: trace.Resync, Layer: "informer", Object: i.about.kind, Reason: l.options.Name, Count: i.store.Len()})
			}
		}
		if next.IsZero() || l.next.Before(next) {
			next = l.next
		}
	}
	if !next.IsZero() {
		timer.Reset(next.Sub(now))
	}
	if i.resyncing {
		i.queue.Resync()
	}
}
