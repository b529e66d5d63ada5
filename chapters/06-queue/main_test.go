package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/06-queue/threepods"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, threepods.Story(work), demotest.Rule{Find: `Worker \d`, Put: "A worker"})
}
