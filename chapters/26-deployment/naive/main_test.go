package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/26-deployment/deadline"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, deadline.Story(deployments))
}
