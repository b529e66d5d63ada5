package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/26-garbage/cascade"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, cascade.Story(prepare))
}
