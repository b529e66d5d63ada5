package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// row is one of the table's: what, how long, and five numbers.
var row = regexp.MustCompile(`(?m)^  (\d\. [a-z0-9 ]+?)  +\S+s  +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$`)

// The chapter's text shows this output and draws conclusions from it. How the controllers get there differs from run to
// run: the lines of the picture, and what depends on who is faster.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	printed := demotest.CompareTidied(t, story, func(text string) string {
		return regexp.MustCompile(`(?m)^ \| .*\n`).ReplaceAllString(text, "")
	}, demotest.Rule{Find: row.String(), Put: "  $1 TIME $2 $3"})

	rows := row.FindAllStringSubmatch(printed, -1)
	require.Len(t, rows, 6)
	for _, r := range rows[1:4] { // of an update, a bad one, and the way back
		asked, errAsked := strconv.Atoi(r[4])
		fewest, errFewest := strconv.Atoi(r[5])
		require.NoError(t, errAsked)
		require.NoError(t, errFewest)
		assert.LessOrEqual(t, asked, 13, "maxSurge allows a quarter more than 10, rounded up: %s", r[0])
		assert.GreaterOrEqual(t, fewest, 8, "maxUnavailable allows a quarter fewer than 10, rounded down: %s", r[0])
	}
	assert.Less(t, strings.Count(printed, "\n  | "), 150, "somebody who reads this in a log of CI has to scroll")
}
