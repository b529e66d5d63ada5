package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	on := clustertest.Shared(t)
	var out bytes.Buffer
	require.NoError(t, demo.On(t.Context(), &out, on, story), "%s", &out)

	shown, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	require.Equal(t, essence(string(shown)), essence(out.String()),
		"if the new output is right: make chapter-5 > chapters/05-shared-informer/testdata/output.txt && make sync")
}

// essence leaves out what differs from run to run: times, numbers, names.
func essence(output string) string {
	_, story, _ := strings.Cut(output, "\n1. ")
	story, _, _ = strings.Cut(story, "\nCleaned up") // the stage says that, not the story
	for _, rule := range []struct{ find, put string }{
		{`(?m)^ *\d+\.\d{3}s`, "TIME"},
		{`demo-[a-z0-9]{5}`, "demo-NAME"},
		{`resourceVersion \d+`, "resourceVersion N"},
		{`, \d+ found nothing`, ", N found nothing"},
		{`it took [\d.]+(µs|ms) each`, "it took TIME each"},
		{`in [\d.]+(µs|ms)\b`, "in TIME"},
		{` +`, " "},
	} {
		story = regexp.MustCompile(rule.find).ReplaceAllString(story, rule.put)
	}
	return story
}
