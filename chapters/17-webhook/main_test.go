package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The in-memory API server asks no webhooks, so this is the real one.
func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story, demotest.Rule{Find: `127\.0\.0\.1:\d+`, Put: "127.0.0.1:PORT"})
}
