package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) { demotest.Compare(t, story) }
