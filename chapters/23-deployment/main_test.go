package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/22-scaling/rollouts"
	"github.com/loopwright/loopwright/chapters/23-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, rollouts.Kubelet, deadline.Story(mini.NewDeploymentController))
}
