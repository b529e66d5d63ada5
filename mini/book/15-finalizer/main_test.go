package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini/book/15-finalizer/closing"
	"github.com/loopwright/loopwright/mini/book/example"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, closing.Story(wrap))
}
