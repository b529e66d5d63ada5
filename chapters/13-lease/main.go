// Command 13-lease runs a controller in two processes, of which one works.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 13: the lease", twice.Story(process)) }

// process runs the controller for as long as it holds the lease.
func process(
	ctx context.Context, cluster *mini.Cluster, d *demo.Demo, name string,
) error {
	elector := &mini.Elector{
		Client: &mini.Client{Cluster: cluster}, Identity: name,
		Lease: mini.Request{Namespace: d.Namespace, Name: "replicaset"},
	}
	return elector.Run(ctx, func(ctx context.Context) error {
		return twice.Control(ctx, cluster, d)
	})
}
