package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/34-statefulset/peers"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, peers.Story(controller))
}
