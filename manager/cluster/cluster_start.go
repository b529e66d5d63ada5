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
	writer.Go(func() { unwritten = c.Run(writing) })
	err := c.cache.Start(ctx)
	if err == nil {
		<-ctx.Done() // the Start of a fake cache returns at once
	}
	stop(err)
	writer.Wait()
	return errors.Join(err, unwritten)
}
