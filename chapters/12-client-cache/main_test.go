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

// The chapter's text shows this output and draws conclusions from it. How many sellers a cache leads to that
// is behind depends on how fast the machine writes.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story,
		demotest.Rule{Find: `(a cache, and a (?:fast|slow) watch) .*`, Put: "$1 N"},
		demotest.Rule{Find: `demo-[a-z0-9]{5}`, Put: "demo-NAME"},
	)
}
