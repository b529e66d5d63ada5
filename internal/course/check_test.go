package course

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATreeInOrderHasNothingToReport(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	_, err := r.Sync()
	require.NoError(t, err)
	problems, err := r.Check(t.Context())
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// Each case breaks one thing on purpose. The message must name the file and
// what to do; a check that stays silent would let the course rot.
func TestEveryWayToBreakTheStructureIsReportedOnce(t *testing.T) {
	t.Parallel()
	one, two, exercise := "chapters/01-sum/README.md", "chapters/02-mean/README.md", "exercises/01-sum/README.md"
	for name, c := range map[string]struct {
		tree map[string]string
		want string
	}{
		"a file in no chapter": {map[string]string{"sum/new.go": "package sum\n"}, ""},
		"a file that no chapter lists": {map[string]string{"extra/extra.go": "package extra\n"},
			"extra/extra.go belongs to no chapter: if it"},
		"a file in two chapters": {changed(t, two, "- mean/mean.go", "- mean/mean.go\n  - sum/sum.go"),
			"sum/sum.go belongs to chapter 1 and to chapter 2: remove it"},
		"a listed file that does not exist": {changed(t, two, "- mean/mean.go", "- mean/mean.go\n  - mean/gone.go"),
			"chapters/02-mean/README.md lists mean/gone.go under files, but no such Go file exists"},
		"a ground floor file in a chapter": {changed(t, two, "- mean/mean.go", "- mean/mean.go\n  - internal/floor/floor.go"),
			"internal/floor/floor.go under files, but that is ground floor"},
		"a chapter's own file listed": {changed(t, one, "[sum/*.go]", "[sum/*.go, chapters/01-sum/main.go]"),
			"a chapter's directory belongs to it anyway"},
		"an import of a later chapter": {map[string]string{"sum/late.go": "package sum\n\nimport _ \"example.com/tiny/mean\"\n"},
			"sum/late.go belongs to chapter 1 and imports example.com/tiny/mean, which starts in chapter 2"},
		"a ground floor that needs a chapter": {map[string]string{"internal/floor/floor.go": "package floor\n\nimport _ \"example.com/tiny/mean\"\n"},
			"internal/floor/floor.go is ground floor and imports example.com/tiny/mean, which starts in chapter 2"},
		"a ground floor that needs only the first chapter": {map[string]string{"internal/floor/floor.go": "package floor\n\nimport _ \"example.com/tiny/sum\"\n"}, ""},
		"cases in a random order": {map[string]string{"sum/more_test.go": "package sum\n\nfunc each() {\n\tfor range map[string]int{\"a\": 1} {\n\t}\n}\n"},
			"sum/more_test.go:4 goes through its cases in a random order"},
		"an import of what is rebuilt": {map[string]string{"sum/cache.go": "package sum\n\nimport _ \"k8s.io/client-go/tools/cache\"\n"},
			"sum/cache.go imports k8s.io/client-go/tools/cache, which this library rebuilds"},
		"an import of nothing": {map[string]string{"sum/gone.go": "package sum\n\nimport _ \"example.com/tiny/gone\"\n"},
			"example.com/tiny/gone, which has no Go files"},
		"a chapter directory without front matter": {map[string]string{"chapters/03-median/main.go": "package main\n"},
			"chapters/03-median/main.go lies in no written chapter"},
		"a title that is not the outline's": {changed(t, one, "title: Sum", "title: Total"),
			`chapters/01-sum/README.md has the title "Total", the outline has "Sum"`},
		"a part that is not the outline's": {changed(t, one, "part: 1", "part: 2"), `the part "2", the outline has "1"`},
		"no minutes":                       {changed(t, one, "minutes: 5", "minutes: 0"), "has no minutes"},
		"no minutes in a draft":            {changed(t, one, "minutes: 5", "draft: true"), ""},
		"an upstream version that is not pinned": {changed(t, one, "v1.2.0", "v1.1.0"),
			"it names example.org/original v1.1.0, but benchmarks/go.mod has v1.2.0"},
		"an upstream file that does not exist": {changed(t, one, "pkg/sum.go", "pkg/gone.go"),
			"upstream pkg/gone.go: example.org/original v1.2.0 has no such file"},
		"an upstream module that nobody requires": {changed(t, one, "example.org/original", "example.org/other"),
			"no go.mod requires example.org/other (looked in go.mod, cluster/controlplane/go.mod, benchmarks/go.mod"},
		"an upstream module that is not in the cache": {map[string]string{".modcache/example.org/original@v1.2.0/pkg/sum.go": ""},
			"is not in the module cache and could not be downloaded"},
		"an exercise that replaces nothing": {changed(t, exercise, "sum/sum.go", "sum/som.go"),
			`replaces "sum/som.go", which does not exist: the overlay would be ignored silently`},
		"a function that the reference does not have": {changed(t, exercise, "function: Sum", "function: Som"), "sum/sum.go: there is no function Som"},
		"a wrong solution that repeats the reference": {map[string]string{"exercises/01-sum/testdata/wrong/same.go": "// It is right.\n" + tiny["sum/sum.go"]},
			"wrong/same.go declares Sum as the reference does"},
		"an exercise that its chapter does not list": {changed(t, one, "exercises: [01-sum]", "exercises: []"),
			"that chapter's front matter does not list 01-sum"},
		"a listed exercise that does not exist": {changed(t, one, "[01-sum]", "[01-sum, 02-gone]"), "exercises/02-gone/README.md does not exist"},
		"an exercise without hints":             {changed(t, exercise, "## Hint 1", "## Note"), ""},
		"an exercise that sends nowhere":        {changed(t, exercise, "reads: chapters/01-sum/README.md", "reads: chapters/07-x/README.md"), "reads chapters/07-x/README.md, which does not exist"},
		"build patterns that see the stubs":     {changed(t, "go.mod", "\t./exercises\n", ""), "go.mod lacks ignore ./exercises"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, err := tinyTree(t, c.tree).CheckStructure(t.Context())
			require.NoError(t, err)
			if c.want == "" {
				// A glob takes in new files, and one hint is left of two.
				assert.Empty(t, problems)
				return
			}
			matching := 0
			for _, p := range problems {
				if strings.Contains(p, c.want) {
					matching++
				}
			}
			assert.Equal(t, 1, matching, "want %q among:\n%s", c.want, strings.Join(problems, "\n"))
		})
	}
}

func TestFrontMatterThatCannotBeReadIsReportedAndTheRestIsStillChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, text, want string }{
		{"minutes: 7", "minuts: 7", "minuts"},
		{"---\n<!--", "<!--", "no closing ---"},
		{"---\ntitle: Mean", "title: Mean", "the first line must be ---"},
	} {
		r := tinyTree(t, changed(t, "chapters/02-mean/README.md", c.old, c.text))
		problems, err := r.CheckStructure(t.Context())
		require.NoError(t, err)
		assert.ErrorContains(t, problems.Err(), c.want)
		assert.ErrorContains(t, problems.Err(), "mean/mean.go belongs to no chapter")
	}
}

func TestANumberThatDoesNotExistIsAnsweredWithWhatDoes(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	chapters, err := r.written()
	require.NoError(t, err)

	_, err = r.find(chapters, 3)
	assert.ErrorContains(t, err, `chapter 3, "Median", is planned but not written yet`)
	_, err = r.find(chapters, 9)
	assert.ErrorContains(t, err, "there is no chapter 9; the chapters are:")
	assert.ErrorContains(t, err, " 2  Mean     1 Watching  7        written")
	_, err = r.FindExercises("9")
	assert.ErrorContains(t, err, "there is no exercise 9")
	assert.ErrorContains(t, err, "Add up")
}

func TestTheOutlineIsCountedFromOneWithoutGaps(t *testing.T) {
	for i, p := range Outline {
		assert.Equal(t, i+1, p.Number)
		assert.Contains(t, Parts[p.Part:], Parts[p.Part])
	}
}

// The tree that this test is part of is held to the rules, too. Text is left
// to `make check`: a snippet that is out of date breaks no build.
func TestThisRepositoryKeepsItsOwnRules(t *testing.T) {
	r, err := Open("../..")
	require.NoError(t, err)
	problems, err := r.CheckStructure(t.Context())
	require.NoError(t, err)
	assert.NoError(t, problems.Err())
}

// Part of a chapter may land before its text: what stands is tested, and nobody is sent to what
// is not there yet.
func TestADraftIsAMilestoneButNotPlayed(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, changed(t, "chapters/02-mean/README.md", "minutes: 7", "draft: true"))
	_, err := r.Sync()
	require.NoError(t, err)
	problems, err := r.Check(t.Context())
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Contains(t, read(t, r, "README.md"), "| 02 | [Mean](chapters/02-mean/README.md) | 1 Watching | in progress |\n")

	chapters, err := r.written()
	require.NoError(t, err)
	assert.Contains(t, ChapterTable(r.Outline, chapters), " 2  Mean     1 Watching           in progress")
	binary, err := r.BuildDemo(t.Context(), 0, false, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "01-sum", filepath.Base(binary), "the newest chapter has no demo yet")
	_, err = r.BuildDemo(t.Context(), 2, false, io.Discard)
	assert.ErrorContains(t, err, `chapter 2, "Mean", is in progress`)
	var out strings.Builder
	require.NoError(t, r.Milestone(t.Context(), 2, true, &out))
	assert.Contains(t, out.String(), "milestone 2, Mean: ")
}
