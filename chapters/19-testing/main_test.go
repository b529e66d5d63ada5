package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/chapters/19-testing/days"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The days are played in bubbles, and the last step on the real API server.
func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story(days.InTest(t)))
}
