package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/26-deployment/deadline"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, deadline.Story(mini.NewDeploymentController))
}
