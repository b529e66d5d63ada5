package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/15-finalizer/closing"
	"github.com/loopwright/loopwright/chapters/example"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, closing.Story(wrap))
}
