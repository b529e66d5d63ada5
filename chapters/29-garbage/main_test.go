package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/29-garbage/cascade"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	// A write leads to the next one, which may be written down before it.
	deletions := demotest.Rule{
		Find: `(?m)^(.* Pod .* delete .*\n)(.* ReplicaSet .* delete .*\n)`, Put: "$2$1",
	}
	patches := demotest.Rule{
		Find: `(?m)^(.* Deployment .* patch .*\n)(.* ReplicaSet .* patch .*\n)`, Put: "$2$1",
	}
	demotest.InMemory(t, cascade.Story(prepare), deletions, patches)
}
