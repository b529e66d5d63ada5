package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, story)
}
