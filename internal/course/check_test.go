package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
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

// Each case breaks one rule on purpose. The message must name the file and what to do. A chapter
// that lacks a line is a program that a reader cannot write.
func TestEveryWayToBreakARuleIsReportedOnce(t *testing.T) {
	t.Parallel()
	const (
		readme, meta = "chapters/01-sum/README.md", "chapters/01-sum/chapter.yaml"
		task, wrong  = "exercises/01-sum/README.md", "exercises/01-sum/wrong.txtar"
	)
	imports := func(file, pkg string) map[string]string {
		return map[string]string{file: "package x\n\nimport _ \"" + pkg + "\"\n"}
	}
	for name, c := range map[string]struct {
		tree map[string]string
		want string
	}{
		"a line missing":             {changed(t, readme, tinyContract, ""), "does not print mini/sum.go:3: // Sum adds up."},
		"a line twice":               {changed(t, readme, tinyContract, tinyContract+tinyContract), "prints mini/sum.go:3 2 times"},
		"no code":                    {changed(t, readme, tinySolution, ""), "does not print mini/sum.go:5: "},
		"no signature":               {changed(t, readme, tinySolution, ""), "does not print mini/sum.go:4: "},
		"code twice":                 {changed(t, readme, tinyBody, tinyBody+tinyBody), "prints mini/sum.go:9 2 times"},
		"no such symbol":             {changed(t, readme, tinyContract, strings.Replace(tinyContract, "symbol=Sum", "symbol=Som", 1)), "mini/sum.go declares no Som"},
		"an open answer":             {changed(t, readme, tinySolution, tinyBody), "shows the solution of Sum before anybody has tried"},
		"an answer with its promise": {changed(t, readme, tinyContract+tinySolution, strings.Replace(tinyContract, " body=false", "", 1)), "shows the solution of Sum before anybody has tried"},
		"a file besides":             {changed(t, "chapters/02-mean/chapter.yaml", "file:", "also: [mini/sum.go]\nfile:"), "chapters/02-mean/README.md does not print mini/sum.go:3"},
		"another title":              {changed(t, meta, "title: Sum", "title: Sums"), `does not begin with "# 1. Sums"`},
		"too long":                   {changed(t, readme, "A **sum**", strings.Repeat("one word. ", 1500)+"sum"), "has 3015 words"},
		"no figures":                 {changed(t, readme, costs, ""), "01-sum/README.md doesn't say what it costs: let it quote the figures that `make bench-texts CHAPTER=1` writes"},
		"a picture in words":         {changed(t, readme, "A **sum**", "!["+strings.Repeat("one word. ", 1500)+"](chapter.yaml)\n\nA **sum**"), ""},
		"more than a page": {map[string]string{
			meta:   strings.Replace(tiny[meta], "part: 1", "part: 5", 1),
			readme: strings.Replace(tiny[readme], "A **sum**", strings.Repeat("one word. ", 750)+"sum", 1),
		}, "has 1515 words, and at most 1500"},
		"a long sentence": {changed(t, readme, "A **sum**", strings.Repeat("word ", 36)+"sum"), "has a sentence of 41 words"},
		"vague actors":    {changed(t, readme, "A **sum**", "Nobody, somebody, whoever and everybody knows: a **sum**"), "says Nobody, somebody, whoever, everybody: name the actor"},
		"stilted words":   {changed(t, readme, "A **sum**", "It tells of a **sum**: a **sum**"), `says "tells of"`},
		"a wrong phrase":  {map[string]string{"chapters/01-sum/library.md": "# Sum\n\nIt begins\nanew.\n"}, `chapters/01-sum/library.md:4 says "anew": say "again"`},
		"too many names":  {changed(t, meta, "[sum]", "[sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum]"), "has 13 new names"},
		"a name not said": {changed(t, meta, "[sum]", "[sum, product]"), `does not explain "product"`},
		"too many hours":  {changed(t, meta, "minutes: 5", "minutes: 91"), "want 1 to 90 minutes, got 91"},
		"no promise":      {changed(t, meta, "after: add numbers\n", ""), `completes "afterwards you can"`},
		"nothing needed":  {changed(t, meta, "needs: [Go]\n", ""), "needs is empty: say what a reader needs first"},
		"a need too late": {changed(t, meta, "needs: [Go]", "needs: [chapter 1]"), "it needs chapter 1, which doesn't come before it"},
		"a long promise":  {changed(t, meta, "add numbers", strings.Repeat("a", 73)), "in at most 72 characters"},
		"no such part":    {changed(t, meta, "part: 1", "part: 9"), "want a part from 1 to 5, got 9"},
		"a wide line":     {changed(t, readme, "A **sum**", "```go\n\t// "+strings.Repeat("x", 84)+"\n```\nA **sum**"), "91 columns"},
		"a wide output":   {changed(t, readme, "A **sum**", "```text\n"+strings.Repeat("x", 91)+"\n```\nA **sum**"), ""},
		"an unknown key":  {changed(t, meta, "names:", "nmes:"), `unknown field "nmes"`},
		"no text":         {map[string]string{readme: ""}, "reading chapters/01-sum: open "},
		"no term":         {changed(t, "docs/glossary.md", "mean, sum", "mean"), `docs/glossary.md has no entry for "sum"`},
		"a gap":           {map[string]string{readme: "", meta: ""}, "chapters/02-mean is the 1. chapter: number the chapters"},

		"no poll":                       {changed(t, meta, tinyPoll, ""), "01-sum/chapter.yaml, poll: want 3 or 4 answers, got 0"},
		"two right answers":             {changed(t, meta, "why: That is the product.", "right: true"), "poll: want one answer with `right: true`, got 2"},
		"no right answer":               {changed(t, meta, "right: true", "why: No."), "poll: want one answer with `right: true`, got 0"},
		"a mistake without a reason":    {changed(t, meta, ", why: That is the product.", ""), "poll: want 1 to 140 characters, got 0: \"\""},
		"a reason of the right answer":  {changed(t, meta, "right: true", "right: true, why: Add."), `poll: "23" is right, so it needs no`},
		"a question that fills a slide": {changed(t, meta, "What is", strings.Repeat("What is ", 30)), "poll: want 1 to 200 characters, got 261"},
		"a stilted poll":                {changed(t, meta, "the product.", "it anew."), `chapter.yaml:14 says "anew": say "again"`},

		"no such file":                     {changed(t, "chapters/02-mean/chapter.yaml", "mini/mean.go", "mini/no.go"), "its file: open"},
		"a file out of the order":          {changed(t, meta, "mini/sum.go", "mini/som.go"), "exercise 1: reading the tests of mini/som.go"},
		"no function of that name":         {changed(t, meta, "[Sum]", "[Som]"), "mini/sum.go: there is no function Som"},
		"no task":                          {map[string]string{task: ""}, "exercise 1: it has no task"},
		"one hint":                         {changed(t, task, tinyHint, ""), ""},
		"no hints":                         {map[string]string{task: "Write Sum.\n"}, `needs a fold with the summary "Hint 1"`},
		"a mistake that is none":           {map[string]string{wrong: "-- same.go --\n// It is right.\n" + tiny["mini/sum.go"]}, "same.go declares Sum as the reference does"},
		"a function that nobody writes":    {changed(t, "mini/sum_test.go", "mean is wrong.\n", "mean is wrong.\n//\n// Function: Total\n"), "the comment on TestASumContainsEveryNumber names the function Total, which exercise 1 does not ask for"},
		"a function that a learner writes": {changed(t, "mini/sum_test.go", "mean is wrong.\n", "mean is wrong.\n//\n// Function: Sum\n"), ""},
		"a mistake in another function": {map[string]string{
			"mini/sum_test.go": strings.Replace(tiny["mini/sum_test.go"], "mean is wrong.\n", "mean is wrong.\n//\n// Function: Sum\n", 1),
			wrong:              "-- a.go --\n// It adds nothing.\n// Caught by: TestASumContainsEveryNumber\npackage mini\n\nfunc Sum([]int) int { return none() }\n\nfunc none() int { return 0 }\n-- b.go --\n// It loses the first.\n// Caught by: TestASumContainsEveryNumber\npackage mini\n\nfunc rest(xs []int) []int { return xs[1:] }\n",
			"mini/sum.go":      strings.Replace(tiny["mini/sum.go"], "range xs", "range rest(xs)", 1) + "\nfunc rest(xs []int) []int { return xs }\n",
		}, "b.go has its mistake elsewhere than in Sum, to which the comment on TestASumContainsEveryNumber sends a learner"},
		"too many mistakes":              {map[string]string{wrong: strings.Repeat("-- a.go --\n// x\n", 13)}, "has 13 mistakes: keep the 12"},
		"cases in a random order":        {map[string]string{"mini/more_test.go": "package mini\n\nfunc each() {\n\tfor range map[string]int{\"a\": 1} {\n\t}\n}\n"}, "mini/more_test.go:4 goes through its cases in a random order"},
		"an import of what is rebuilt":   {imports("tools/cache.go", "k8s.io/client-go/tools/cache"), "tools/cache.go imports k8s.io/client-go/tools/cache, which this library rebuilds"},
		"an alias of what is rebuilt":    {imports("informer/clientgo.go", "k8s.io/client-go/tools/cache"), ""},
		"an import that goes up":         {imports("informer/up.go", "example.com/tiny/manager"), "informer/up.go imports manager, which lies above informer"},
		"an import that goes down":       {imports("manager/down.go", "example.com/tiny/informer"), ""},
		"a library that knows mini":      {imports("informer/m.go", "example.com/tiny/mini"), "informer/m.go imports mini, which the library does not know"},
		"a mini that knows the library":  {imports("mini/up.go", "example.com/tiny/workqueue"), "mini/up.go imports workqueue: mini imports nothing"},
		"a mini that knows the trace":    {imports("mini/trace.go", "example.com/tiny/trace"), ""},
		"build patterns that see stubs":  {changed(t, "go.mod", "ignore ./my\n", ""), "go.mod lacks ignore ./my"},
		"an original of another version": {changed(t, meta, "v1.2.0", "v1.1.0"), "it names example.org/original v1.1.0, but benchmarks/go.mod has v1.2.0"},
		"an original that is not there":  {changed(t, meta, "pkg/sum.go", "pkg/gone.go"), "upstream pkg/gone.go: example.org/original v1.2.0 has no such file"},
		"an original of an unknown module": {changed(t, meta, "example.org/original", "example.org/other"),
			"no go.mod requires example.org/other (looked in go.mod, cluster/controlplane/go.mod, benchmarks/go.mod"},
		"an original that is not in the cache": {map[string]string{".modcache/example.org/original@v1.2.0/pkg/sum.go": ""},
			"is not in the module cache and could not be downloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, err := tinyTree(t, c.tree).CheckStructure(t.Context())
			require.NoError(t, err)
			if c.want == "" {
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

func TestANumberThatDoesNotExistIsAnsweredWithWhatDoes(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, name := range []string{"2", "02", "02-mean"} {
		c, err := r.FindChapter(name)
		require.NoError(t, err)
		assert.Equal(t, "Mean", c.Title)
	}
	_, err := r.FindChapter("9")
	assert.ErrorContains(t, err, `there is no chapter "9"; the chapters are:`)
	assert.ErrorContains(t, err, " 2  Mean     1 Watching  7        mini/mean.go")
	_, err = r.FindChapter("")
	assert.ErrorContains(t, err, "which chapter? Give its number")
}

// The tree that this test is part of is held to the rules, too. Text is left
// to `make check`: a snippet that is out of date breaks no build.
func TestThisRepositoryKeepsItsOwnRules(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing in it happens at the same time, and the race detector makes minutes of it: `make test` runs it without")
	}
	r, err := Open("../..")
	require.NoError(t, err)
	problems, err := r.CheckStructure(t.Context())
	require.NoError(t, err)
	assert.NoError(t, problems.Err())
}
