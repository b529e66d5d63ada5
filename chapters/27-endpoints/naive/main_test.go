package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/27-endpoints/traffic"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

// How often a map has another order than before is left to chance.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, traffic.Story(controller), demotest.Rule{Find: `Writes of Endpoints: [1-9]\d*`, Put: "Writes of Endpoints: N"})
}
