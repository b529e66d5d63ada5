package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.Compare(t, story,
		demotest.Rule{Find: `(main|11-events)\.ownersChanged`, Put: "ownersChanged"},    // a test binary has another main
		demotest.Rule{Find: `queued, [12] pending for`, Put: "queued, 1 pending for"},   // an update comes just before the deletion
		demotest.Rule{Find: `update and delete handed`, Put: "delete handed"},           // the same
		demotest.Rule{Find: `(?m)^( +(?:ConfigMaps|Pods) +)\d+( +\d+)`, Put: "$1 N $2"}) // Kubernetes writes to both, too
}

// The text shows a part of the output before the whole.
func TestTheExcerptIsFromTheOutput(t *testing.T) {
	output, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	excerpt, err := os.ReadFile("testdata/step-3.txt")
	require.NoError(t, err)
	require.NotEmpty(t, excerpt)
	require.True(t, strings.Contains(string(output), string(excerpt)), "copy the lines of step 3 to testdata/step-3.txt, and make sync")
}
