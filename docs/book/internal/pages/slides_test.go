package pages

import (
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A chapter as they all are: what breaks, a question, the file that it builds, the task and questions.
const taught = `
-- chapters/01-list/README.md --
# 1. List

![You are here](map.svg)

You have a list. It is *short*. See [chapter 2](../02-watch/README.md).

## Break it

This is the naive one:

<!-- snippet file=list/list.go region=body -->
` + "```go\n// list/list.go\n\ntype List struct {\n\tItems []string\n}\n```" + `

**Predict:** what is last?

<details>
<summary>Run it: <code>make chapter-1 NAIVE=1</code></summary>

<!-- output file=naive/testdata/output.txt -->
` + "```text\nChapter 1, naive\n================\nCluster: one at https://127.0.0.1:1\n\n1. It starts\n\n  # Nothing.\n\nCleaned up: all.\n```" + `

Nothing, because it is empty.
</details>

## Build it

The imports are few:

<!-- snippet file=mini/listwatch.go symbol=imports -->
` + "```go\n// mini/listwatch.go\n\npackage mini\n```" + `

The first is easy:

<!-- snippet file=mini/listwatch.go symbol=List.Next body=false -->
` + "```go\n// mini/listwatch.go\n\n// Next returns the first of them.\nfunc (l *List) Next() string\n```" + `

<details>
<summary>One way to write it</summary>

<!-- snippet file=mini/listwatch.go symbol=List.Next doc=false title=false -->
` + "```go\nfunc (l *List) Next() string { return l.Items[0] }\n```" + `
</details>

<!-- snippet file=mini/listwatch.go symbol=List.first -->
` + "```go\n// mini/listwatch.go\n\nfunc (l *List) first(n int) []string { return l.Items[:n] }\n```" + `

It was explained too late.

**Predict:** ` + "`List.first`" + ` of none?

<details>
<summary>Answer</summary>

It panics.
</details>

## Write it

Allow ten minutes.

## Grown up

The library has more.

## Questions

<details>
<summary>Why a list?</summary>

Because it is short.
</details>
-- chapters/01-list/map.svg --
<svg/>
-- chapters/01-list/chapter.yaml --
title: List
part: 1
minutes: 30
file: mini/listwatch.go
names: [list]
exercise: {write: [List.Next, List.Last]}
poll:
  question: What is "last" in ` + "`Items`" + `?
  answers:
    - {text: An item, why: There is none.}
    - {text: Nothing, right: true}
    - {text: A <panic>, why: It does not ask.}
`

func deckOf(t *testing.T) []slide {
	t.Helper()
	s, err := openCourse(t, taught)
	require.NoError(t, err)
	slides, found := s.slidesOf(s.pages["chapters/01-list/README.md"])
	require.Empty(t, found)
	return slides
}

func find(t *testing.T, slides []slide, title template.HTML) slide {
	t.Helper()
	for _, s := range slides {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("no slide %q", title)
	return slide{}
}

func TestADeckHasTheOrderOfItsChapter(t *testing.T) {
	var kinds []string
	for _, s := range deckOf(t) {
		kinds = append(kinds, s.Kind+" "+string(s.Title))
	}
	assert.Equal(t, []string{
		"cover 1. List", "code Break it", "poll What is &#34;last&#34; in <code>Items</code>?", "printed <code>make chapter-1 NAIVE=1</code>",
		"code <code>List.Next</code>", "code <code>List.first</code>", "question Predict", "task Write list", "questions Questions", "end Where to go on",
	}, kinds)
}

func TestTheProseOfAChapterIsWhatTheTeacherReads(t *testing.T) {
	slides := deckOf(t)
	for title, notes := range map[template.HTML]string{
		"1. List":                             "<p>You have a list. It is <em>short</em>. See chapter 2.</p>\n",
		"Break it":                            "<p>This is the naive one:</p>\n",
		"Predict":                             "<p>It was explained too late.</p>\n<p><b>Answer</b></p><p>It panics.</p>\n",
		"Questions":                           "<p><b>Why a list?</b></p><p>Because it is short.</p>\n",
		"Where to go on":                      "<p>The next chapter: 2. Watch.</p>",
		"<code>make chapter-1 NAIVE=1</code>": "<p>Nothing, because it is empty.</p>\n",
		"<code>List.Next</code>":              "<p>The imports are few:</p>\n<p>The first is easy:</p>\n",
		"<code>List.first</code>":             "<p>It was explained too late.</p>\n",
	} {
		assert.Equal(t, template.HTML(notes), find(t, slides, title).Notes, title)
	}
	assert.Equal(t, template.HTML("<p>Allow ten minutes.</p>\n"), find(t, slides, "Write list").Notes)
	assert.Contains(t, find(t, slides, `What is &#34;last&#34; in <code>Items</code>?`).Notes, "what is last?")
}

// A class that has seen the solution copies it.
func TestWhatTheExerciseAsksForIsBelowAndNotOnTheWay(t *testing.T) {
	slides := deckOf(t)
	s := find(t, slides, "<code>List.Next</code>")
	assert.Contains(t, s.Body, "Next returns the first of them.")
	assert.Contains(t, s.Body, "You write this.")
	assert.NotContains(t, s.Body, "Items[")
	require.Len(t, s.Below, 1)
	assert.Contains(t, s.Below[0].Body, "Items[")
	assert.Equal(t, s.Notes, s.Below[0].Notes)
	given := find(t, slides, "<code>List.first</code>")
	assert.Empty(t, given.Below)
	assert.Contains(t, given.Body, "Items[")
}

func TestAPollMarksTheRightAnswerAndExplainsTheOthers(t *testing.T) {
	body := string(find(t, deckOf(t), `What is &#34;last&#34; in <code>Items</code>?`).Body)
	assert.Equal(t, 1, strings.Count(body, `class="right"`))
	assert.Equal(t, 3, strings.Count(body, `why fragment`), "each explanation waits for the second step")
	assert.Contains(t, body, "<b>B</b><div><p>Nothing</p>\n<p class=\"why fragment\" data-fragment-index=\"0\">✓ Right.</p>")
	assert.Contains(t, body, "✗ There is none.")
	assert.Contains(t, body, "A &lt;panic&gt;")
}

func TestWhatAProgramPrintedIsShownWithoutWhatAllProgramsPrint(t *testing.T) {
	assert.Equal(t, template.HTML("<pre class=\"large\">1. It starts\n\n  # Nothing.</pre>"), find(t, deckOf(t), "<code>make chapter-1 NAIVE=1</code>").Body)
}

func TestALongFunctionIsCutBetweenItsStatements(t *testing.T) {
	var lines []string
	for _, step := range []string{"one", "two", "three"} {
		lines = append(lines, "\t// "+step, "\tif err := "+step+"(); err != nil {", "\t\tif x {", "\t\t\tlog()", "\t\t}", "\t\treturn err", "\t}")
	}
	lines = append(append([]string{"func f() error {"}, lines...), "\treturn nil", "}")
	cut := parts(lines, cutCost)
	require.Len(t, cut, 2)
	for _, part := range cut {
		assert.LessOrEqual(t, len(part), slideRows)
	}
	assert.Equal(t, lines, append(append([]string{}, cut[0]...), cut[1]...), "no line is lost")
	assert.Contains(t, []string{"\t// two", "\t// three"}, cut[1][0])
	for _, part := range parts(strings.Split(strings.Repeat("\t\t\t\tdeep()\n", 40), "\n"), cutCost) {
		assert.LessOrEqual(t, len(part), slideRows, "there is no good place, and still it must fit")
	}
}

func TestOutputIsCutWhereAStepBegins(t *testing.T) {
	lines := append(append([]string{"1. One", ""}, strings.Split(strings.Repeat("  # a\n", 11), "\n")...), "2. Two", "")
	lines = append(lines, strings.Split(strings.Repeat("  # b\n", 4), "\n")...)
	cut := parts(lines, stepCost)
	require.Len(t, cut, 2)
	assert.Equal(t, "2. Two", cut[1][0])
}

func TestALineThatIsTooWideIsWrappedBetweenWords(t *testing.T) {
	assert.Equal(t, []string{"  # one two", "        three"}, wrap("  # one two three", 12))
	assert.Equal(t, []string{"short"}, wrap("short", 12))
	assert.Equal(t, []string{"a", "        verylongword"}, wrap("a verylongword", 12), "what has no break stays as it is")
	assert.Equal(t, []string{"averylongwordthatcannotbewrapped"}, wrap("averylongwordthatcannotbewrapped", 12))
}
