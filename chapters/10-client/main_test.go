package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/10-client/counter"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, counter.Story(increment))
}
