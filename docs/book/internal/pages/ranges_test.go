package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const quoting = `
-- chapters/02-watch/README.md --
# 2. Watch

<!-- snippet file=list/list.go region=body -->
` + "```go\n// list/list.go\n\ntype List struct {\n\tItems []string\n}\n```" + `

And once more.

<!-- snippet file=list/list.go region=body -->
` + "```go\n// list/list.go\n\ntype List struct {\n\tItems []string\n}\n```" + `
-- docs/text.md --
# Text

[a](../list/list.go#L6-L7) [b](../list/list.go#L1)
`

// line is a line of a source page, without its colors.
func line(t *testing.T, page, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<span id="` + id + `">.*?\n</span>`).FindString(page)
	require.NotEmpty(t, found)
	return regexp.MustCompile(`<span class="[a-z0-9]+">(\w+)</span>`).ReplaceAllString(found, "$1")
}

func TestTheFirstLineOfAQuoteHasAnAnchorForAllOfThemAndSaysWhoQuotes(t *testing.T) {
	s, err := openCourse(t, quoting)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, s.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, "public", "source", "list", "list.go.html"))
	require.NoError(t, err)
	page := string(text)
	assert.Equal(t, `<span id="L6"><a href="#L6">6</a>type List struct {`+
		`<span class="range" id="L6-L7" style="--lines:2"></span><span class="range" id="L6-L8" style="--lines:3"></span>`+
		`<span class="quoted">quoted in <a href="../../chapters/02-watch/index.html#snippet-1">chapter 2</a></span>`+"\n</span>", line(t, page, "L6"))
	assert.NotContains(t, line(t, page, "L1"), "range", "one line is its own anchor")
	assert.NotContains(t, line(t, page, "L7"), "quoted")
}

func TestAQuoteHasTheAnchorToWhichTheFileLeadsBack(t *testing.T) {
	s, err := openCourse(t, quoting)
	require.NoError(t, err)
	out, found := s.text(s.pages["chapters/02-watch/README.md"])
	require.Empty(t, found)
	assert.Contains(t, out, `<div class="language-go" id="snippet-1"><div class="code-bar"><a href="../../source/list/list.go.html#L6-L8"`)
	assert.Contains(t, out, `<div class="language-go" id="snippet-2">`)
}
