package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/19-replicaset/quota"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, quota.InMemory, quota.Story(prepare))
}
