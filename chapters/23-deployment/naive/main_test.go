package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/22-scaling/rollouts"
	"github.com/loopwright/loopwright/chapters/23-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, rollouts.Kubelet, deadline.Story(deployments))
}
