package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/26-garbage/cascade"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	// The owner may go before the write of its dependent is written down.
	lastWrites := demotest.Rule{
		Find: `(?m)^(.* Deployment .* patch .*\n)(.* ReplicaSet .* patch .*\n)`, Put: "$2$1",
	}
	demotest.InMemory(t, cascade.Story(prepare), lastWrites)
}
