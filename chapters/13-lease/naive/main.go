// Command naive runs a controller in two processes, as a Deployment with two replicas would.
package main

import (
	"context"
	"errors"

	"github.com/loopwright/loopwright/chapters/11-cache/website"
	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 13, naive: two processes", twice.Story(run)) }

// run is the main function of each process.
func run(ctx context.Context, p twice.Process) error {
	cache := mini.NewCache(p.Cluster)
	c, err := website.New(cache, p.Reconciler(mini.NewCachedClient(cache)))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}
