package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/33-daemonset/agents"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, agents.InMemory, agents.Story(mini.NewDaemonSetController))
}
