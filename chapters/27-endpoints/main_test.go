package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/27-endpoints/traffic"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, traffic.Story(controller))
}
