package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/06-queue/threepods"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, threepods.Story(work), demotest.Rule{Find: `Worker \d`, Put: "A worker"})
}
