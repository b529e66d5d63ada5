package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/22-replicaset/quota"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, quota.InMemory, quota.Story(prepare))
}
