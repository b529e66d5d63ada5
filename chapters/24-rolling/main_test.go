package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/24-rolling/surge"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, surge.Story(roll))
}
