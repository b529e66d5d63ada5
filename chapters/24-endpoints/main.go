// Command 24-endpoints runs mini's Endpoints controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/24-endpoints/traffic"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 24: Endpoints", traffic.Story(controller)) }

// controller is mini's.
func controller(_ *demo.Demo, m *mini.Manager) (*mini.Controller, error) {
	return mini.NewEndpointsController(m)
}
