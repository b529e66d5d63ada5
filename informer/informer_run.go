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
	i.rejectLate()
	close(i.stopping) // before the handlers are waited for, because one of them may wait for this
	listeners.Wait()
	i.detector.checkAll()
	return failure
}

// loop alone writes to the store, and it alone knows the listeners. So a listener joins
// between two batches: the objects that it starts with and the changes that follow fit
// together without a lock.
func (i *Informer[T]) loop(ctx context.Context, running *sync.WaitGroup) {
	var batch Batch[T]
	resync := time.NewTimer(time.Hour)
	defer resync.Stop()
	for {
		i.startListeners(ctx, running)
		i.scheduleResync(resync)
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

// apply brings the store up to date, and then the listeners. In this order: a
// handler that looks into the store must find what it was told, or something newer.
func (i *Informer[T]) apply(batch *Batch[T]) {
	for n := range batch.Deltas {
		delta := &batch.Deltas[n]
		another := n+1 < len(batch.Deltas) && batch.Deltas[n+1].Key == delta.Key
		i.applyDelta(delta, another)
		if delta.Type != DeltaSync && !another { // the last delta of a key leads to what it will hold
			i.versions.stored(delta.Key, delta.Object.GetResourceVersion())
		}
	}
	if batch.ResourceVersion != "" {
		i.versions.advanced(batch.ResourceVersion)
	}
	for _, l := range i.listeners {
		l.push(batch.Deltas, batch.Synced)
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
			i.options.Recorder.Record(trace.Event{Kind: trace.Synced, Layer: "informer", Object: i.instruments.kind, Count: i.store.Len()})
		}
	}
}

// applyDelta brings the store up to date with one delta. another says that the next delta
// is about the same name. After a Deleted, it adds another object, which replaces this one
// in the store, so that no reader finds neither.
func (i *Informer[T]) applyDelta(delta *Delta[T], another bool) {
	switch delta.Type {
	case DeltaSync:
	case DeltaDeleted:
		if !another {
			i.store.Delete(delta.Key)
		}
		if i.detector.on() {
			i.detector.drop(delta.Key)
		}
	default:
		i.store.Put(delta.Object)
		if i.detector.on() {
			i.detector.keep(delta.Key, delta.Object)
		}
	}
}

// startListeners starts the listeners that have come, and forgets those that were removed.
func (i *Informer[T]) startListeners(ctx context.Context, running *sync.WaitGroup) {
	i.mu.Lock()
	joining := i.joining
	i.joining = nil
	i.mu.Unlock()
	for _, l := range joining {
		if l.options.Resync > 0 {
			l.next = time.Now().Add(l.options.Resync)
		}
		var there []Delta[T]
		for object := range i.store.All() {
			there = append(there, Delta[T]{Type: DeltaAdded, Key: KeyOf(object), Object: object, Initial: true})
		}
		l.push(there, i.isSynced)
		i.listeners = append(i.listeners, l)
		running.Go(func() {
			defer i.wake() // so that it is forgotten, even if its handler ends the goroutine
			l.run(ctx)
		})
	}
	i.listeners = slices.DeleteFunc(i.listeners, func(l *listener[T]) bool { return l.stopped(ctx) })
}

// rejectLate ends the handlers that came too late.
func (i *Informer[T]) rejectLate() {
	i.mu.Lock()
	late := i.joining
	i.ended, i.joining = true, nil
	i.mu.Unlock()
	for _, l := range late {
		l.end()
	}
}

// scheduleResync asks for a resync if a listener is due, and sets the timer for the
// next one. While one is under way, a listener that becomes due waits for its end, so
// that it does not miss the first half.
func (i *Informer[T]) scheduleResync(timer *time.Timer) {
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
				i.options.Recorder.Record(trace.Event{Kind: trace.Resync, Layer: "informer", Object: i.instruments.kind, Reason: l.options.Name, Count: i.store.Len()})
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
