package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/22-scaling/rollouts"
	"github.com/loopwright/loopwright/chapters/23-deployment/deadline"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, rollouts.Kubelet, deadline.Story(deployments))
}
