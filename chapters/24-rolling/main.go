// Command 24-rolling runs mini's rolling update.
package main

import (
	"github.com/loopwright/loopwright/chapters/24-rolling/surge"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 24: rolling update",
		alone.Story(surge.Story(roll), "replicaset-controller", "deployment-controller"),
		demo.Predict(2, "does it take longer than the naive one?",
			"the time above; NAIVE=1 shows that of the naive one"))
}

// roll is the Deployment controller of this chapter.
func roll(c *mini.CachedClient) mini.Reconciler {
	d := &mini.Deployments{Client: c}
	return mini.ReconcilerFunc(d.Roll)
}
