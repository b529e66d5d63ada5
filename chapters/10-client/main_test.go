package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/10-client/checking"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, checking.Story(check))
}
