package main

import (
	"os"
	"testing"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/manager/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(clustertest.Run(m))
}

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story)
}
