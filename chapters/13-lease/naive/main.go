// Command naive runs a controller in two processes, as a Deployment with two replicas would.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 13, naive: two processes", twice.Story(process)) }

// process runs the controller at once.
func process(ctx context.Context, cluster *mini.Cluster, d *demo.Demo, _ string) error {
	return twice.Control(ctx, cluster, d)
}
