// Command 23-deployment runs mini's Deployment controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/23-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 23: the Deployment", deadline.Story(mini.NewDeploymentController))
}
