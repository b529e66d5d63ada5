package cluster

import (
	"context"
	"errors"
	"sync"
)

// Start implements Cluster. Events that are recorded before the end are written, if the server takes
// them within some seconds.
func (c *liveCluster) Start(ctx context.Context) error {
	writing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var unwritten error
	var writer sync.WaitGroup
	writer.Go(func() { unwritten = c.WriteEvents(writing) })
	err := c.StartCache(ctx)
	stop(err)
	writer.Wait()
	return errors.Join(err, unwritten)
}

// StartCache is Start without the events. A manager calls it and WriteEvents for its own cluster, because
// webhooks record events after the cache has ended.
func (c *liveCluster) StartCache(ctx context.Context) error {
	if err := c.cache.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done() // the Start of a fake cache returns at once
	return nil
}

// WriteEvents is Start without the cache.
func (c *liveCluster) WriteEvents(ctx context.Context) error { return c.Run(ctx) }
