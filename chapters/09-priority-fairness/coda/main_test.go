package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The chapter's text shows this output and draws conclusions from it. Workers, watches
// and users run at the same time, so that the order of the timeline is another one
// in each run; so is how often a write was tried while the API server was away, and how
// many of a storm's changes a piece of work answered.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story,
		demotest.Rule{Find: `(?m)^ +\d+\.\d{3}s .*\n`, Put: ""},
		demotest.Rule{Find: `shop-[a-z0-9]{5}`, Put: "shop-NAME"},
		demotest.Rule{Find: `(a restart of the API server) +\d+ +\d+ +\d+ +\d+`, Put: "$1 N N N N"},
		demotest.Rule{Find: `(5\. a storm) .*`, Put: "$1 N N N N N"},
		demotest.Rule{Find: `(a storm, and slow writes) +\d+ +\d+ +\d+ +\d+`, Put: "$1 N N N N"},
	)
}
