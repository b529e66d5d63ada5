package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/chapters/16-apply/exposing"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The real API server decides who owns which field, so this is the real one.
func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, exposing.Story(run, true))
}
