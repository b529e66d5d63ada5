// Package demotest holds a chapter's demo to the output that its text shows.
//
// It plays the story on the test binary's own cluster and compares what it
// prints with testdata/output.txt, leaving out what differs from run to run.
// Below it are packages demo and clustertest; the tests of chapters use it.
package demotest

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Rule replaces what a regular expression finds.
type Rule struct{ Find, Put string }

// common are times, and names that are made up.
var common = []Rule{
	{`(?m)^ *\d+\.\d{3}s`, "TIME"},
	{`(in|after) [\d.]+(µs|ms|s|m\S*s)\b`, "$1 TIME"},
	{`demo-[a-z0-9]{5}`, "demo-NAME"},
	{`resourceVersion \d+`, "resourceVersion N"},
	{` +`, " "},
}

// Compare plays a story and compares its output with testdata/output.txt. The
// rules come before the common ones.
func Compare(t *testing.T, story func(context.Context, *demo.Demo) error, rules ...Rule) {
	t.Helper()
	compareOn(t, clustertest.Shared(t), story, rules)
}

// InMemory is Compare on an in-memory API server, in a bubble in which time passes only while
// nothing happens. So a story about a race between two goroutines has the same end each time.
func InMemory(t *testing.T, story func(context.Context, *demo.Demo) error, rules ...Rule) {
	t.Helper()
	InMemoryWith(t, func(context.Context, *fakeapi.Server) {}, story, rules...)
}

// InMemoryWith is InMemory on a server that prepare makes ready for the story: it registers kinds,
// and plays what a cluster has beside an API server until the context ends.
func InMemoryWith(t *testing.T, prepare func(context.Context, *fakeapi.Server), story func(context.Context, *demo.Demo) error, rules ...Rule) {
	t.Helper()
	inMemory(t, fakeapi.Options{FinalizeNamespaces: true}, prepare, story, rules)
}

// InMemoryWithoutNamespaceController is InMemory on a server that does not play the namespace controller: the story is
// about it.
func InMemoryWithoutNamespaceController(t *testing.T, story func(context.Context, *demo.Demo) error, rules ...Rule) {
	t.Helper()
	inMemory(t, fakeapi.Options{}, func(context.Context, *fakeapi.Server) {}, story, rules)
}

func inMemory(t *testing.T, options fakeapi.Options, prepare func(context.Context, *fakeapi.Server), story func(context.Context, *demo.Demo) error, rules []Rule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		defer server.Close()
		prepare(t.Context(), server)
		compareOn(t, cluster.Of("in memory", server.Config()), story, rules)
	})
}

func compareOn(t *testing.T, on *cluster.Cluster, story func(context.Context, *demo.Demo) error, rules []Rule) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, demo.On(t.Context(), &out, on, story), "%s", &out)
	shown, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	Same(t, string(shown), out.String(), rules...)
}

// Same compares what a program has printed with what its text shows, as Compare does: for a program that
// ran elsewhere, as in a page.
func Same(t *testing.T, shown, printed string, rules ...Rule) {
	t.Helper()
	rules = append(rules, common...)
	want := essence(shown, rules)
	require.Equal(t, want, withoutMoreBookmarks(want, essence(printed, rules)),
		"if the new output is right, put it into testdata/output.txt with make chapter-N, and make sync")
}

// withoutMoreBookmarks leaves out of got the bookmarks that want has not in their place: an API
// server sends one whenever it likes to.
func withoutMoreBookmarks(want, got string) string {
	expected := strings.SplitAfter(want, "\n")
	var out strings.Builder
	for line := range strings.SplitAfterSeq(got, "\n") {
		here := len(expected) > 0 && expected[0] == line
		if strings.Contains(line, " listwatch bookmark ") && !here {
			continue
		}
		out.WriteString(line)
		if len(expected) > 0 {
			expected = expected[1:]
		}
	}
	return out.String()
}

func essence(output string, rules []Rule) string {
	_, story, _ := strings.Cut(output, "\n1. ")
	story, _, _ = strings.Cut(story, "\nCleaned up: ") // the stage's last words
	for _, rule := range rules {
		story = regexp.MustCompile(rule.Find).ReplaceAllString(story, rule.Put)
	}
	return story
}
