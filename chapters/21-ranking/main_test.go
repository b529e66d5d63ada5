package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/21-ranking/scaledown"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.Quick, scaledown.Story(reconciler))
}
