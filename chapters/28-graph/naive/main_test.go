package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/28-graph/late"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, late.Story(prepare))
}
