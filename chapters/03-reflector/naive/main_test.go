package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/03-reflector/outage"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

// How many requests a loop without a pause sends depends on the machine.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, outage.Story(keep), demotest.Rule{
		Find: `sent \d{3,} requests`, Put: "sent hundreds of requests",
	})
}
