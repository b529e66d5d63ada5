package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, twice.Story(run))
}
