package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/34-statefulset/peers"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, peers.Story(mini.NewStatefulSetController))
}
