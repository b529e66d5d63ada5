package main

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

// The replicas are processes of this test binary.
func TestMain(m *testing.M) {
	if name := os.Getenv(replicaName); name != "" {
		os.Exit(replicaMain(name))
	}
	os.Exit(clustertest.Run(m))
}

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story,
		demotest.Rule{Find: `\d+\.\d s\b`, Put: "TIME"},
		// Two processes report, and the one that takes the Lease may be heard before the one that released it.
		demotest.Rule{Find: `(?m)^(.* d +lease .*)\n(.* c +lease .*)$`, Put: "$2\n$1"})
}
