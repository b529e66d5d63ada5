package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/18-ranking/scaledown"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, scaledown.InMemory, scaledown.Story(reconciler))
}
