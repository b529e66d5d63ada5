package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, restart.Story(run), demotest.Rule{Find: `web-[a-z0-9]{5}`, Put: "web-NAME"})
}
