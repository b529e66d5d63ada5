package manager

import (
	"context"
	"errors"

	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// This file writes the events of the manager's own cluster. They are in none of the groups: every runnable may record
// one until it ends, so the writer begins before the first group starts, and ends when all have ended.

// ownCluster is what cluster.New returns. Its cache and its events can be run apart from each other.
type ownCluster interface {
	cluster.Cluster
	StartCache(ctx context.Context) error
	WriteEvents(ctx context.Context) error
}

// ownCache is the manager's own cluster as one of the caches.
type ownCache struct{ ownCluster }

// Start implements Runnable.
func (c ownCache) Start(ctx context.Context) error { return c.StartCache(ctx) }

// String is what it is called in messages.
func (c ownCache) String() string { return anyvalue.Name(c.ownCluster, "") }

// eventWriter is WriteEvents while it runs.
type eventWriter struct {
	stop  context.CancelFunc
	ended chan struct{} // closed by the goroutine
}

// writeEvents begins to write. If it cannot, that is a failure, like that of a runnable.
func (m *controllerManager) writeEvents(ctx context.Context, report func(error)) *eventWriter {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &eventWriter{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		if err := m.WriteEvents(writing); err != nil {
			report(err)
		}
	}()
	return w
}

// finish returns when all that was recorded is written, or when grace ends.
func (w *eventWriter) finish(grace context.Context) error {
	w.stop()
	select {
	case <-w.ended:
		return nil
	case <-grace.Done():
		return errors.New("still running: the writer of events")
	}
}
