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
		"if the new output is right: make chapter-3 > chapters/03-reflector/testdata/output.txt && make sync")
	for _, output := range []string{string(shown), out.String()} {
		// A reader who is told of these lines must find them.
		for _, line := range []string{"watch start", "watch end", "backoff", "waiting", "410 Gone", "may not watch configmaps"} {
			require.Contains(t, output, line)
		}
	}
}

// essence is the story: headlines, remarks and the table. The timeline in between
// is written by a reflector that runs on its own, against the clock: how often it
// tries while the server is away, and whether it is back before the first write,
// differs from run to run.
func essence(output string) string {
	var story []string
	for _, line := range strings.Split(output, "\n") {
		if !regexp.MustCompile(`^ +\d+\.\d{3}s `).MatchString(line) {
			story = append(story, line)
		}
	}
	_, text, _ := strings.Cut(strings.Join(story, "\n"), "\n1. ")
	for _, rule := range []struct{ find, put string }{
		{`demo-[a-z0-9]{5}`, "demo-NAME"},
		{`resourceVersion \d+`, "resourceVersion N"},
		{`(ConfigMap +\d+) +\d+ +\d+ +(\d+)`, "$1 N N $2"}, // Apply and Progress
		{` +`, " "},
	} {
		text = regexp.MustCompile(rule.find).ReplaceAllString(text, rule.put)
	}
	return text
}
