package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/17-owner/overlap"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, overlap.Story(findPods))
}
