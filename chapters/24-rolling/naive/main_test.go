package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/24-rolling/surge"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, surge.Story(roll),
		// By how many depends on which ReplicaSet comes first.
		demotest.Rule{Find: `up to (2[6-9]|3\d) Pods`, Put: "up to TOO MANY Pods"})
}
