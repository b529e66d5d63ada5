package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/18-ranking/scaledown"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, scaledown.InMemory, scaledown.Story(reconciler))
}
