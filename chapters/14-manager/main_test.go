package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/14-manager/handover"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, handover.Story(run))
}
