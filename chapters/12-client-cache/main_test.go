package main

import (
	"log/slog"
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
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
