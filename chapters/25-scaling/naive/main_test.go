package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/25-scaling/rollouts"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, rollouts.Story(deployments),
		demotest.Rule{Find: `web-[a-z0-9]{5,10}`, Put: "web-HASH"})
}
