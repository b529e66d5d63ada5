// Command 27-endpoints runs mini's Endpoints controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/27-endpoints/traffic"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 27: Endpoints",
		alone.Story(traffic.Story(controller), "endpoints-controller"),
		demo.Predict(1,
			"what does the program say after each step, and how many writes are there "+
				"in step 2?",
			"the five steps").Until(5))
}

// controller is mini's.
func controller(_ *demo.Demo, m *mini.Manager) (*mini.Controller, error) {
	return mini.NewEndpointsController(m)
}
