package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The chapter's text shows this output and draws conclusions from it.
//
// The timeline in between is written by a reflector that runs on its own, against
// the clock: how often it tries while the server is away, and whether it is back
// before the first write, differs from run to run. So only the story is compared:
// headlines, remarks and the table.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	printed := demotest.CompareTidied(t, story, func(text string) string { return text },
		demotest.Rule{Find: `(?m)^ +\d+\.\d{3}s .*\n`},
		demotest.Rule{Find: `(ConfigMap +\d+) +\d+ +\d+ +(\d+)`, Put: "$1 N N $2"}) // Apply and Progress
	shown, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	for _, output := range []string{string(shown), printed} {
		// The text mentions these lines, so a reader must find them.
		for _, line := range []string{"watch start", "watch end", "backoff", "waiting", "410 Gone", "may not watch configmaps"} {
			require.Contains(t, output, line)
		}
	}
}
