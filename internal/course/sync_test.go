package course

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSyncFillsInCodeOutputAndTables(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	changed, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, []string{"README.md", "chapters/01-sum/README.md", "chapters/02-mean/README.md"}, changed)
	assert.Contains(t, read(t, r, "chapters/01-sum/README.md"), strings.ReplaceAll(`<!-- snippet file=mini/sum.go symbol=Sum body=false -->
'''go
// mini/sum.go

// Sum adds up.
func Sum(xs []int) int
'''

<details>
<summary>One way to write it</summary>

<!-- snippet file=mini/sum.go symbol=Sum doc=false title=false -->
'''go
func Sum(xs []int) int {
	total := 0
	for _, x := range xs {
		total += x
	}
	return total
}
'''

</details>

<!-- output file=testdata/output.txt -->
'''text
6
'''
`, "'''", "```"))
	assert.Contains(t, read(t, r, "chapters/02-mean/README.md"), "```go\n// Of divides.\nfunc (*Mean) Of(xs []int) int { return Sum(xs) / len(xs) }\n```\n")
	assert.Contains(t, read(t, r, "README.md"), "| 01 | [Sum](chapters/01-sum/README.md) | add numbers | 1 Watching | 5 |\n")

	changed, err = r.Sync()
	require.NoError(t, err)
	assert.Empty(t, changed, "a second sync must change nothing")
}

// A reader follows one program through the chapters: a change that was typed by hand would soon be
// one that the program does not have.
func TestADiffShowsHowAProgramGrows(t *testing.T) {
	t.Parallel()
	const marker = "<!-- diff from=mini/sum.go to=later/sum.go symbols=%s -->\n"
	later := strings.Replace(tiny["mini/sum.go"], "total := 0\n", "total := 00\n", 1)
	later = strings.Replace(later, "return total\n", "return total + Zero\n", 1) + "\n// Zero is none.\nconst Zero = 0\n"
	r := tinyTree(t, map[string]string{
		"later/sum.go": later,
		"docs/one.md":  fmt.Sprintf(marker, "Sum,Zero"),
		"docs/bare.md": fmt.Sprintf(marker, "Sum context=false"),
		"docs/all.md":  strings.Replace(marker, " symbols=%s", "", 1),
	})
	_, err := r.Sync()
	require.NoError(t, err)
	const sum = " func Sum(xs []int) int {\n-\ttotal := 0\n+\ttotal := 00\n%s\n-\treturn total\n+\treturn total + Zero\n }\n"
	const zero = "\n+// Zero is none.\n+const Zero = 0\n```\n"
	const files = "```diff\n--- mini/sum.go\n+++ later/sum.go\n"
	assert.Equal(t, fmt.Sprintf(marker, "Sum,Zero")+files+fmt.Sprintf(sum, " \tfor _, x := range xs {\n\n \t}")+zero,
		read(t, r, "docs/one.md"))
	assert.Contains(t, read(t, r, "docs/all.md"), files+fmt.Sprintf(sum, " \t// region loop\n\n \t// endregion loop")+"+\n"+zero[1:])

	assert.Contains(t, read(t, r, "docs/bare.md"),
		files+"-\ttotal := 0\n+\ttotal := 00\n\n-\treturn total\n+\treturn total + Zero\n```\n")

	put(t, r.Root, "later/sum.go", strings.Replace(later, "total := 00", "total := 000", 1))
	problems, err := r.Check(t.Context())
	require.NoError(t, err)
	assert.ErrorContains(t, problems.Err(), "docs/one.md does not show the code as it is")
}

func TestCheckFailsWithADiffWhenTheCodeMovedOn(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	_, err := r.Sync()
	require.NoError(t, err)
	put(t, r.Root, "mini/sum.go", strings.Replace(tiny["mini/sum.go"], "total := 0", "total := 00", 1))
	problems, err := r.Check(t.Context())
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "chapters/01-sum/README.md does not show the code as it is: run `make sync`")
	assert.Contains(t, problems[0], "-	total := 0\n+	total := 00\n")
	assert.NotContains(t, problems[0], "# 1. Sum", "the diff shows the change and a little around it")
}

func TestAMarkerThatCannotBeFilledIsReportedWithItsLine(t *testing.T) {
	t.Parallel()
	for marker, want := range map[string]string{
		"<!-- snippet file=mini/gone.go symbol=Sum -->":              "does not exist or cannot be read",
		"<!-- snippet file=mini/sum.go symbol=Sam -->":               "mini/sum.go declares no Sam",
		"<!-- snippet file=mini/sum.go region=lop -->":               `no lines between "region lop" and "endregion lop"`,
		"<!-- snippet mini/sum.go -->":                               `"mini/sum.go" is not of the form key=value`,
		"<!-- diff from=mini/sum.go to=gone.go -->":                  "does not exist or cannot be read",
		"<!-- diff from=mini/sum.go to=mini/mean.go symbols=Sam -->": "mini/mean.go declares no Sam",
		"<!-- diff from=mini/sum.go to=mini/sum.go symbols=Sum -->":  "have the same Sum",
		"<!-- output file=gone.txt -->":                              "does not exist or cannot be read",
		"<!-- course:chapters -->":                                   "no closing <!-- /course:chapters -->",
		"<!-- course:other -->\n<!-- /course:other -->":              "course:other: there is no such block",
		"<!-- snippet file=README.md region=a=b x=y -->":             "no lines between",
	} {
		old := "before\n" + marker + "\n```go\nkept\n```\n"
		r := tinyTree(t, map[string]string{"docs/guide.md": old})
		_, err := r.Sync()
		assert.ErrorContains(t, err, "docs/guide.md:2: ")
		assert.ErrorContains(t, err, want)
		assert.Equal(t, old, read(t, r, "docs/guide.md"), "text must not be lost because a marker is wrong")
		problems, err := r.Check(t.Context())
		require.NoError(t, err)
		assert.ErrorContains(t, problems.Err(), want)
	}
}

func TestARegionIsCutWithoutItsIndentationAndMarkers(t *testing.T) {
	text, err := cutRegion("sum.go", tiny["mini/sum.go"], "loop")
	require.NoError(t, err)
	assert.Equal(t, "for _, x := range xs {\n\ttotal += x\n}", text)

	text, err = cutRegion("a.yaml", "a: 1\n# region r\n  b: 2\n\n  # region inner\n    c: 3\n  # endregion inner\n# endregion r\n", "r")
	require.NoError(t, err)
	assert.Equal(t, "b: 2\n\n  c: 3", text)
}

// A blank line separates a marker from a doc comment. In the text it would be a
// hole above the code.
func TestARegionIsCutWithoutTheBlankLinesAroundIt(t *testing.T) {
	for _, source := range []string{
		"// region r\n\n// F is empty.\n\tfunc F() {}\n\n// endregion r\n",
		"// region r\n\t\n \n// F is empty.\n\tfunc F() {}\n\t\n\n// endregion r\n",
	} {
		text, err := cutRegion("a.go", source, "r")
		require.NoError(t, err)
		assert.Equal(t, "// F is empty.\n\tfunc F() {}", text)
	}
	text, err := cutRegion("a.go", "// region r\n\n\tindented\n\n\t\tmore\n// endregion r\n", "r")
	require.NoError(t, err)
	assert.Equal(t, "indented\n\n\tmore", text, "a blank line in the middle stays")
}

func TestEveryKindOfDeclarationCanBeShown(t *testing.T) {
	const source = `package p

// T is generic.
type T[A, B any] struct{}

// M has a receiver with type parameters.
func (t *T[A, B]) M() {}

func M() {}

// The states.
const (
	One = iota
	Two
)

var V, W = 1, 2
`
	for symbol, want := range map[string]string{
		"T":   "// T is generic.\ntype T[A, B any] struct{}",
		"T.M": "// M has a receiver with type parameters.\nfunc (t *T[A, B]) M() {}",
		"M":   "func M() {}",
		"Two": "// The states.\nconst (\n\tOne = iota\n\tTwo\n)",
		"W":   "var V, W = 1, 2",
	} {
		got, err := cutSymbol("p.go", source, symbol, true, true)
		assert.NoError(t, err)
		assert.Equal(t, want, got)
	}
	got, err := cutSymbol("p.go", source, "T", false, true)
	assert.NoError(t, err)
	assert.Equal(t, "type T[A, B any] struct{}", got)
	_, err = cutSymbol("p.go", "package", "T", true, true)
	assert.ErrorContains(t, err, "reading p.go")
	got, err = cutSymbol("p.go", source, "T.M", true, false)
	assert.NoError(t, err)
	assert.Equal(t, "// M has a receiver with type parameters.\nfunc (t *T[A, B]) M()", got)
	_, err = cutSymbol("p.go", source, "T", true, false)
	assert.ErrorContains(t, err, "T is no function")
}

func TestMarkersInsideAFencedBlockAreText(t *testing.T) {
	text := "````md\n<!-- snippet file=nowhere.go -->\n```go\n```\n````\n~~~\n<!-- course:chapters -->\n~~~\n"
	r := tinyTree(t, map[string]string{"docs/guide.md": text})
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, text, read(t, r, "docs/guide.md"))
}

func TestOutputThatContainsAFenceGetsALongerOne(t *testing.T) {
	r := tinyTree(t, map[string]string{"chapters/01-sum/testdata/output.txt": "```\n"})
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Contains(t, read(t, r, "chapters/01-sum/README.md"), "````text\n```\n````\n")
}

func TestADiffShowsWhatChangedAndWhere(t *testing.T) {
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	assert.Empty(t, unified("a", "b", a, a))
	assert.Equal(t, "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
		unified("a", "b", a, strings.Replace(a, "5", "five", 1)))
	assert.Equal(t, "--- a\n+++ b\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n", unified("a", "b", a, "0\n"+a))
}

// A reader who follows a link must arrive.
func TestALinkThatLeadsNowhereIsReported(t *testing.T) {
	t.Parallel()
	text := "# Guide\n\n[code](../mini/sum.go), [section](../mini/sum.go#L3), [site](https://example.org/x), [below](#guide),\n" +
		"[gone](../mini/gone.go)\n\n![picture](plot.svg)\n\n```\n[not](a-link.md)\n```\n"
	r := tinyTree(t, map[string]string{"docs/guide.md": text})
	_, err := r.Sync()
	require.NoError(t, err)
	problems, err := r.Check(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Problems{
		"docs/guide.md links to ../mini/gone.go, but there is no mini/gone.go",
		"docs/guide.md links to plot.svg, but there is no docs/plot.svg",
	}, problems)
}
