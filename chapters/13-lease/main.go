// Command 13-lease runs a controller in two processes, of which one works.
package main

import (
	"context"
	"errors"

	"github.com/loopwright/loopwright/chapters/11-cache/website"
	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 13: the lease", twice.Story(run)) }

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
	elector := &mini.Elector{
		Client: &mini.Client{Cluster: p.Cluster}, Identity: p.Name,
		Lease: mini.Request{Namespace: p.Namespace, Name: "websites"},
	}
	err = elector.Run(ctx, c.Run)
	stop()
	return errors.Join(err, <-ended)
}
