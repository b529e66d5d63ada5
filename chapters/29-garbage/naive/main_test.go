package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/29-garbage/cascade"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, cascade.Story(prepare))
}
