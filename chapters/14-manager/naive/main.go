// Command naive starts each part of the program in a goroutine, and forgets it.
package main

import (
	"context"
	"time"

	"github.com/loopwright/loopwright/chapters/14-manager/handover"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 14, naive: start and forget", handover.Story(run)) }

// run starts the cache, the election, and in the leader the controllers.
func run(ctx context.Context, p website.Process) error {
	cache := mini.NewCache(p.Cluster)
	c, err := website.New(cache, p.Reconciler(mini.NewCachedClient(cache)))
	if err != nil {
		return err
	}
	go func() { _ = cache.Run(ctx) }()
	go func() {
		_ = p.Elector.Run(ctx, func(ctx context.Context) error {
			go func() { _ = c.Run(ctx) }()
			<-ctx.Done()
			return nil
		})
	}()
	<-ctx.Done()
	time.Sleep(10 * time.Second) // the parts finish what they have begun
	return nil
}
