// Command 23-template runs mini's Deployment controller of level one: a ReplicaSet for each
// template, and all Pods replaced at once.
package main

import (
	"github.com/loopwright/loopwright/chapters/23-template/web"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 23: a ReplicaSet for each template",
		alone.Story(web.Story(replaceAll), "replicaset-controller", "deployment-controller"),
		demo.Predict(3,
			"how many ReplicaSets are there at the end, and which revisions do they "+
				"have?",
			"the last two lines"))
}

// replaceAll is the Deployment controller of this chapter.
func replaceAll(c *mini.CachedClient) mini.Reconciler {
	d := &mini.Deployments{Client: c}
	return mini.ReconcilerFunc(d.ReplaceAll)
}
