package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/33-daemonset/agents"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, agents.InMemory, agents.Story(controller))
}
