package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/35-nodelifecycle/outage"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, outage.Story(prepare))
}
