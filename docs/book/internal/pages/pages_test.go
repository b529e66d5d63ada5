package pages

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// A small course: two chapters, an exercise, two texts about it, and a file.
const small = `
-- go.mod --
module example.com/course
-- README.md --
# Course

[![ci](https://example.com/badge.svg)](https://example.com)

This is a course. It is small.

## Your first exercise

Get it.
-- chapters/01-list/README.md --
# 1. List

A list is a list.

## Next & last
-- chapters/01-list/chapter.yaml --
title: List
part: 1
minutes: 30
needs: [some practice with kubectl]
file: mini/listwatch.go
exercise: {write: [List.Next, List.Last]}
upstream:
  - {module: k8s.io/client-go, version: v0.37.2, file: tools/cache/listwatch.go}
  - {module: sigs.k8s.io/controller-runtime, version: v0.25.2, file: pkg/cache/cache.go}
  - {module: go.etcd.io/etcd/server/v3, version: v3.6.0, file: embed/etcd.go}
-- chapters/01-list/library.md --
# The library
-- exercises/01-list/README.md --
# Write list

Write it.

<details>
<summary>Hint 1</summary>

Think of {{ braces }}.
</details>

<details>
<summary>Hint 2</summary>

Think again.
</details>
-- chapters/02-watch/README.md --
# 2. Watch
-- chapters/02-watch/chapter.yaml --
title: Watch
part: 1
minutes: 40
needs: [chapter 1, what a watch is for]
file: mini/store.go
-- docs/workshops.yaml --
class: 1.2
shares: {tell: 25, predict: 10, run: 10, write: 55}
-- docs/architecture.md --
# Architecture

## The <sup>way</sup> of an event
-- list/list.go --
package list

// List is a list.
//
// region body
type List struct {
	Items []string
}

// endregion body
-- mini/listwatch.go --
package mini

// Next returns the first of them.
func (l *List) Next() string { return l.Items[0] }

// Last returns the last of them.
func (l *List) Last() string { return l.Items[len(l.Items)-1] }

func (l *List) first(n int) []string { return l.Items[:n] }
-- mini/listwatch_test.go --
package mini
-- mini/store.go --
package mini
`

// openCourse writes the small course, with more files or other ones, and opens it.
func openCourse(t *testing.T, more string) (*Site, error) {
	t.Helper()
	root := t.TempDir()
	for _, file := range append(txtar.Parse([]byte(small)).Files, txtar.Parse([]byte(more)).Files...) {
		at := filepath.Join(root, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, file.Data, 0o644))
	}
	return Open(root)
}

// htmlOf is what a text becomes that stands in docs/.
func htmlOf(t *testing.T, text string) string {
	t.Helper()
	out, err := tryHTML(t, text)
	require.NoError(t, err)
	return out
}

func tryHTML(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := openCourse(t, "-- docs/text.md --\n"+text)
	if err != nil {
		return "", err
	}
	out, found := s.text(s.pages["docs/text.md"])
	return out, found.err()
}

func TestALinkToATextLeadsToItsPage(t *testing.T) {
	out := htmlOf(t, "# T\n\n[a](architecture.md) [b](architecture.md#the-way-of-an-event) [c](../chapters/01-list/README.md) [d](../README.md) [e](#t) [f](../chapters/01-list)\n")
	for _, want := range []string{
		`<a href="architecture.html">a</a>`, `<a href="architecture.html#the-way-of-an-event">b</a>`,
		`<a href="../chapters/01-list/index.html">c</a>`, `<a href="../index.html">d</a>`, `<a href="#t">e</a>`,
		`<a href="../chapters/01-list/index.html">f</a>`,
	} {
		assert.Contains(t, out, want)
	}
}

func TestALinkToAFileLeadsToItsSourcePagePastTheRouter(t *testing.T) {
	out := htmlOf(t, "# T\n\n[a](../list/list.go) [b](../list/list.go#L3-L5) [c](../list) [d](https://example.com/x)\n")
	for _, want := range []string{
		`<a href="../source/list/list.go.html" target="_self">a</a>`, `<a href="../source/list/list.go.html#L3-L5" target="_self">b</a>`,
		`<a href="../source/list/index.html" target="_self">c</a>`, `<a href="https://example.com/x" target="_blank" rel="noreferrer">d</a>`,
	} {
		assert.Contains(t, out, want)
	}
}

func TestALinkThatLeadsNowhereIsAnErrorThatSaysWhereAndWhy(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# T\n\n\n[a](nothing.md)\n", `docs/text.md:4: the link "nothing.md" leads nowhere: there is no docs/nothing.md`},
		{"# T\n\nOne line,\nand [a](architecture.md#the-way)\n", `docs/text.md:4: the link "architecture.md#the-way" leads nowhere: docs/architecture.md has no heading #the-way (#the-way-of-an-event is similar)`},
		{"# T\n\n[a](#u)\n", `docs/text.md:3: the link "#u" leads nowhere: docs/text.md has no heading #u`},
		{"# T\n\n[a](../list/list.go#L99)\n", `docs/text.md:3: the link "../list/list.go#L99" leads nowhere: list/list.go has 10 lines, and no line 99`},
		{"# T\n\n[a](../list/list.go#L3-L99)\n", `docs/text.md:3: the link "../list/list.go#L3-L99" leads nowhere: list/list.go has 10 lines, and no lines 3 to 99`},
		{"# T\n\n[a](../list/list.go#L5-L3)\n", `docs/text.md:3: the link "../list/list.go#L5-L3" leads nowhere: list/list.go has 10 lines, and no lines 5 to 3`},
		{"# T\n\n[a](../list/list.go#body)\n", `docs/text.md:3: the link "../list/list.go#body" leads nowhere: #body is no line of list/list.go: write #L10 or #L10-L20`},
		{"# T\n\n[a](/docs/architecture.md)\n", `docs/text.md:3: the link "/docs/architecture.md" begins with a slash: write the path from the text's own directory`},
		{"# T\n\n![a](nothing.svg)\n", `docs/text.md:3: the link "nothing.svg" leads nowhere: there is no docs/nothing.svg`},
		{"# T\n\n![a](https://example.com/a.svg) and text\n", `docs/text.md:3: the picture https://example.com/a.svg is on another site, and the book must work without a network: put it next to the text`},
		{"# T\n\nA List<T> is\na list.\n", "docs/text.md:3: <t> is no HTML tag that a text may use: put it into backquotes"},
		{"# T\n\n<details>\n<summary>Why?</summary>\n\nBecause.\n", "docs/text.md:3: <details> is never closed: write </details>, with a blank line before it"},
		{"# T\n\nWhy</details>\n", "docs/text.md:3: </details> closes nothing that is open: remove it, or write <details> before it"},
		{"# T\n\n<a href=\"x\">y</a>\n", "docs/text.md:3: <a href=...> is not checked: write the link or the picture in Markdown"},
		{"No title.\n", `docs/text.md: a page needs a title: begin the text with a heading, as in "# Architecture"`},
		{"# T\n\n<!-- snippet file=list/list.go symbol=List -->\n```go\n// list/list.go\n\ntype List int\n```\n", "docs/text.md:5: list/list.go does not have this code: run `make sync`"},
	} {
		_, err := tryHTML(t, c.text)
		if assert.Error(t, err, c.text) {
			assert.Equal(t, c.want, err.Error())
		}
	}
}

func TestCodeOfAFileHasItsNameInABarThatLeadsToItsLines(t *testing.T) {
	out := htmlOf(t, "# T\n\n<!-- snippet file=list/list.go region=body -->\n```go\n// list/list.go\n\ntype List struct {\n\tItems []string\n}\n```\n")
	assert.Contains(t, out, `<div class="code-bar"><a href="../source/list/list.go.html#L6-L8" target="_self">list/list.go</a></div>`)
	assert.NotContains(t, out, "// list/list.go", "the bar has the name")
	assert.Contains(t, out, `<span class="kd">type</span>`)
	assert.NotContains(t, out, "<!--")
}

func TestWhatAProgramPrintedLooksLikeATerminal(t *testing.T) {
	out := htmlOf(t, "# T\n\n<!-- output file=testdata/output.txt -->\n```text\nADDED <apple>\n```\n")
	assert.Contains(t, out, `<div class="language-text printed"><div class="code-bar">Output</div>`)
	assert.Contains(t, out, "ADDED &lt;apple&gt;")
}

func TestADiagramKeepsItsSourceForReadersWithoutScripts(t *testing.T) {
	out := htmlOf(t, "# T\n\n```mermaid\nflowchart LR\n    a --> b[\"<b>\"]\n```\n")
	assert.Contains(t, out, "<div class=\"diagram\"><pre class=\"diagram-source\"><code>flowchart LR\n    a --&gt; b[&#34;&lt;b&gt;&#34;]\n</code></pre></div>")
}

func TestAFigureIsItsPictureAndAName(t *testing.T) {
	out := htmlOf(t, "# T\n\n<!-- figure name=reflector -->\n![What it shows](../pic.svg)\n-- pic.svg --\n<svg/>\n")
	assert.Contains(t, out, `<loop-figure name="reflector"><img src="../pic.svg" alt="What it shows"></loop-figure>`)
	_, err := tryHTML(t, "# T\n\n<!-- figure name=reflector -->\nNo picture.\n")
	assert.ErrorContains(t, err, "docs/text.md:4: a figure is the marker")
}

func TestWhatIsOnlyForGitHubIsNotInTheBook(t *testing.T) {
	out := htmlOf(t, "# T\n\n<!-- github -->\nHere it is only a picture, see [there](architecture.md).\n\nThe next one stays.\n")
	assert.NotContains(t, out, "only a picture")
	assert.Contains(t, out, "<p>The next one stays.</p>")
}

func TestAnExerciseSaysWhoseItIsAndFoldsItsHints(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	out, found := s.text(s.pages["exercises/01-list/README.md"])
	require.Empty(t, found)
	assert.Contains(t, out, "<details>\n<summary>Hint 1</summary>\n<p>Think of {{ braces }}.</p>\n</details>\n")
	assert.Contains(t, out, `Exercise of <a href="../../chapters/01-list/index.html">chapter 1, List</a>`)
	assert.Contains(t, out, `<code>make exercise-1</code>`)
}

func TestAChapterBeginsWithItsFactsAndEndsWithItsExerciseAndItsFile(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	first, found := s.text(s.pages["chapters/01-list/README.md"])
	require.Empty(t, found)
	for _, want := range []string{
		"<span>needs some practice with kubectl</span><span>30 minutes: 10 to read, 5 to run, 15 to write</span><span>Part 1: Watching</span>",
		`<a class="card" href="../../exercises/01-list/index.html">`,
		`<a href="../../source/mini/listwatch.go.html" target="_self">mini/listwatch.go</a>`,
	} {
		assert.Contains(t, first, want)
	}
	library, found := s.text(s.pages["chapters/01-list/library.md"])
	require.Empty(t, found)
	for _, want := range []string{
		`<a href="https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/listwatch.go" target="_blank" rel="noreferrer">tools/cache/listwatch.go</a>`,
		`<a href="https://github.com/kubernetes-sigs/controller-runtime/blob/v0.25.2/pkg/cache/cache.go" target="_blank" rel="noreferrer">pkg/cache/cache.go</a>`,
		"<td>embed/etcd.go</td>",
	} {
		assert.Contains(t, library, want)
	}
	second, found := s.text(s.pages["chapters/02-watch/README.md"])
	require.Empty(t, found)
	assert.Contains(t, second, `<span>needs <a href="../01-list/index.html">List</a>, what a watch is for</span>`)
}

func TestPagesAreTurnedInTheOrderInWhichTheyAreRead(t *testing.T) {
	s, err := openCourse(t, "-- CONTRIBUTING.md --\n# Contributing\n-- docs/zebra.md --\n# Zebra\n-- docs/generated/names.md --\n# Names\n")
	require.NoError(t, err)
	var order []string
	for _, p := range s.order {
		order = append(order, p.file)
	}
	assert.Equal(t, []string{
		"README.md", "chapters/01-list/README.md", "exercises/01-list/README.md", "chapters/01-list/library.md", "chapters/02-watch/README.md",
		"docs/architecture.md", "docs/zebra.md", "CONTRIBUTING.md", "docs/generated/names.md",
	}, order)
	menu, err := json.Marshal(s.menu)
	require.NoError(t, err)
	assert.Contains(t, string(menu), "Zebra")
	assert.NotContains(t, string(menu), "Names", "nobody looks for a generated table in a menu")
	page, _, err := s.vitePage(2)
	require.NoError(t, err)
	assert.Contains(t, page, "prev:\n  link: /chapters/01-list/\n  text: 1. List\n")
	assert.Contains(t, page, "next:\n  link: /chapters/01-list/library\n  text: The library\n")
}

// Vue would take braces for a template and a strange tag for a component, and
// Markdown would end a block of HTML at a blank line.
func TestNothingOfATextIsATemplateOrMarkdownToVitePress(t *testing.T) {
	s, err := openCourse(t, "-- docs/text.md --\n# T\n\n{{ 1 + 1 }} and `{{ .Name }}`\n\n```go\na := 1\n\n\n\tb := \"{{\"\n  \n# no heading\n```\n\n- x\n\n      y\n")
	require.NoError(t, err)
	for i, p := range s.order {
		if p.file != "docs/text.md" {
			continue
		}
		page, _, err := s.vitePage(i)
		require.NoError(t, err)
		_, body, _ := strings.Cut(page, "\n---\n\n")
		assert.True(t, strings.HasPrefix(body, "<div v-pre class=\"text\">\n"), "v-pre switches Vue off")
		for number, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
			assert.NotEmpty(t, strings.TrimSpace(line), "line %d is blank, and ends the block", number+1)
		}
		return
	}
	t.Fatal("docs/text.md has no page")
}
