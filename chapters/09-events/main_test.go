package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, story, demotest.Rule{
		Find: `shop-[a-z0-9]{5}`, Put: "shop-NAME",
	})
}

func TestTheDiffIsThatOfTheCode(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	before, after := read("../08-controller/website/website.go"), read("website/website.go")
	_, diff, found := strings.Cut(read("README.md"), "```diff\n")
	require.True(t, found)
	diff, _, _ = strings.Cut(diff, "```")
	for line := range strings.SplitSeq(diff, "\n") {
		if gone, ok := strings.CutPrefix(line, "-"); ok {
			require.Contains(t, before, gone+"\n")
		}
		if added, ok := strings.CutPrefix(line, "+"); ok {
			require.Contains(t, after, added+"\n")
			require.NotContains(t, before, added+"\n")
		}
	}
}
