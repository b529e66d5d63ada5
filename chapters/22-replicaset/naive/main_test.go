package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/22-replicaset/quota"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

// How many Pods are too many in step 1 depends on how far the watch is behind.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, quota.InMemory, quota.Story(prepare),
		demotest.Rule{Find: `There are (1[1-9]|20) Pods`, Put: "There are too many Pods"})
}
