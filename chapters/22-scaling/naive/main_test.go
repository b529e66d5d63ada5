package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/22-scaling/rollouts"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, rollouts.Kubelet, rollouts.Story(deployments),
		demotest.Rule{Find: `web-[a-z0-9]{5,10}`, Put: "web-HASH"})
}
