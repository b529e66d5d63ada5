package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, story, demotest.Rule{Find: `after 1\.\d s`, Put: "after 1.N s"})
}
