package manager

import (
	"context"
	"errors"

	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// ownCluster is what cluster.New returns. The manager runs its cache and its event writer
// separately.
type ownCluster interface {
	cluster.Cluster
	StartCache(ctx context.Context) error
	WriteEvents(ctx context.Context) error
}

// ownCache is the manager's own cluster, in the group of caches.
type ownCache struct{ ownCluster }

// Start implements Runnable.
func (c ownCache) Start(ctx context.Context) error { return c.StartCache(ctx) }

// String is the runnable's name in messages.
func (c ownCache) String() string { return anyvalue.Name(c.ownCluster, "") }

// eventWriter is a running call of WriteEvents. It belongs to no group: every runnable may record an
// event until it ends, so the writer starts before the first group, and ends after the last.
type eventWriter struct {
	stop  context.CancelFunc
	ended chan struct{} // closed by the goroutine
}

// writeEvents starts the writer of a cluster's events. If it fails, the manager stops, as with a
// runnable.
func writeEvents(ctx context.Context, of ownCluster, report func(error)) *eventWriter {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &eventWriter{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		if err := of.WriteEvents(writing); err != nil {
			report(err)
		}
	}()
	return w
}

// finish stops the writer, and returns when all recorded events are written, or when grace ends.
func (w *eventWriter) finish(grace context.Context) error {
	w.stop()
	select {
	case <-w.ended:
		return nil
	case <-grace.Done():
		return errors.New("still running: the writer of events")
	}
}
