package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/03-reflector/outage"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, outage.Story(keep))
}
