package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/20-owner/overlap"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, overlap.Story(findPods))
}
