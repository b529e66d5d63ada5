// Command 26-deployment runs mini's Deployment controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/26-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	story := deadline.Story(mini.NewDeploymentController)
	demo.Main("Chapter 26: the Deployment",
		alone.Story(story, "replicaset-controller", "deployment-controller"), history)
}

// history is what the reader is asked.
var history = demo.Predict(3,
	"which revisions are left at the end, and to which image would kubectl rollout undo go?",
	"the last line: revision 2 has the image that doesn't exist")
