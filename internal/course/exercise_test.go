package course

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func theExercise(t *testing.T, r *Repo) Exercise {
	t.Helper()
	found, err := r.FindExercises("1")
	require.NoError(t, err)
	e, err := One("1", found)
	require.NoError(t, err)
	return e
}

// A chapter may have several exercises. Its number then means the first one that
// is not solved, and where one must be named, all names are listed.
func TestAChapterMayHaveSeveralExercises(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, file := range []string{"README.md"} {
		text, err := r.read("exercises/01-sum/" + file)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(r.Abs("exercises/01-total"), 0o755))
		require.NoError(t, os.WriteFile(r.Abs("exercises/01-total/"+file), text, 0o644))
	}
	found, err := r.FindExercises("01")
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, "01-sum", found[0].ID)
	_, err = One("1", found)
	assert.ErrorContains(t, err, "chapter 1 has several exercises: name one of 01-sum, 01-total")

	next, err := r.Next(t.Context(), found)
	require.NoError(t, err)
	assert.Equal(t, "01-sum", next.Name)
	solution, err := r.read(next.Replaces)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(r.Abs("my/01-sum"), 0o755))
	require.NoError(t, os.WriteFile(r.Abs(next.Mine()), solution, 0o644))
	next, err = r.Next(t.Context(), found)
	require.NoError(t, err)
	assert.Equal(t, "01-total", next.Name)

	found, err = r.FindExercises("1-total")
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "01-total", found[0].Name)

	put(t, r.Root, "chapters/01-sum/README.md", strings.Replace(tiny["chapters/01-sum/README.md"], "exercises: [01-sum]", "exercises: [01-total, 01-sum]", 1))
	found, err = r.FindExercises("1")
	require.NoError(t, err)
	assert.Equal(t, "01-total", found[0].Name, "the chapter says which exercise comes first")
}

// stub is what the tool makes of the tiny reference.
const stub = `// Exercise 1, Add up: you write Sum. The rest is given.

package sum

// Sum adds up.
func Sum(xs []int) int {
	// Yours to write.
	return 0
}
`

func mine(t *testing.T, r *Repo) solution {
	t.Helper()
	s, err := r.learner(theExercise(t, r))
	require.NoError(t, err)
	return s
}

func TestTheFirstRunSetsUpTheStubAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	var out strings.Builder
	solved, err := r.Try(t.Context(), theExercise(t, r), false, &out)
	require.NoError(t, err)
	assert.False(t, solved)
	assert.Equal(t, `exercise 1: Add up

Write Sum.

Your file is my/01-sum/sum.go.
It is a stub: it compiles, and its tests fail.

Running its tests. The first time takes longer, because all of it is compiled.

"A sum contains every number" does not hold yet: the sum of 1, 2 and 3 must be
6, got 0. Change Sum in my/01-sum/sum.go; the check that failed is
sum/sum_test.go:8. Read chapters/01-sum/README.md.

Next: edit my/01-sum/sum.go and run `+"`make exercise-1`"+` again.
Stuck? `+"`make hint-1`"+` shows the first of 2 hints.
`, out.String())
}

func TestALearnersFileIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "mine\n", "my/01-sum/sum.go.1": "older\n"})
	e := theExercise(t, r)
	created, err := r.Setup(e)
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, "mine\n", read(t, r, "my/01-sum/sum.go"))

	kept, err := r.Reset(e)
	require.NoError(t, err)
	assert.Equal(t, "my/01-sum/sum.go.2", kept)
	assert.Equal(t, "mine\n", read(t, r, kept), "a reset must keep the work under another name")
	assert.Equal(t, "older\n", read(t, r, "my/01-sum/sum.go.1"))
	assert.Equal(t, stub, read(t, r, "my/01-sum/sum.go"))

	kept, err = r.Reset(e)
	require.NoError(t, err)
	assert.Empty(t, kept, "nobody worked on the stub: there is nothing to keep")
}

// What a learner may write, and what they must be told.
func TestEveryKindOfFailureIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		status Status
		want   string
	}{
		"a compile error names the learner's own file": {"return undefinedName", NoCompile, "my/01-sum/sum.go:3:33: undefined: undefinedName"},
		"a nil pointer":        {"var p *int; return *p", Panicked, "the code panics (my/01-sum/sum.go:3): it uses a pointer, or calls a method on something, that is nil."},
		"a panic in words":     {`panic("Sum is not written yet")`, Panicked, "Sum is not written yet."},
		"an endless loop":      {"for { _ = xs }", TimedOut, ": a loop never ends"}, // TestCrashesAreToldApart has the rest: Go does not always have a stack
		"a wait forever":       {"return <-make(chan int)", TimedOut, "(my/01-sum/sum.go:3): it waits to receive from a channel to which nobody sends."},
		"the right answer":     {"t := 0; for _, x := range xs { t += x }; return t", Passed, ""},
		"printing without end": {`text := "and so on"; for range 14 { text += text }; for { println(text) }`, Flooding, "the code prints without end"},
		"a second test":        {"return len(xs) - 3 + 6", Failing, `"The sum of nothing is zero" does not hold yet: the sum of nothing must be 0, got 3.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "package sum\n\nfunc Sum(xs []int) int { " + c.body + " }\n"})
			n, err := r.newRunner(t.Context())
			require.NoError(t, err)
			n.timeout = 10 * time.Second // a busy machine starts slowly
			e := theExercise(t, r)
			f, err := n.run(t.Context(), e, mine(t, r))
			require.NoError(t, err)
			assert.Equal(t, c.status, f.Status)
			if c.status != Passed {
				assert.Contains(t, oneLine(r.explain(e, f, e.Mine())), c.want)
			}
		})
	}
}

func TestAChangedSignatureIsExplainedEvenThoughTheErrorIsInTheTest(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "package sum\n\nfunc Total(xs []int) int { return 0 }\n"})
	var out strings.Builder
	_, err := r.Try(t.Context(), theExercise(t, r), true, &out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "    sum/sum_test.go:7:12: undefined: Sum")
	assert.Contains(t, oneLine(out.String()), "keep the names and the signatures that the stub had (`make reset-1` gives you a new one, and keeps your file)")
}

func TestVerifyProvesAnExerciseBothWaysAndShowsWhatALearnerIsTold(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	var out strings.Builder
	require.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, &out))
	assert.Contains(t, out.String(), "first.go (It skips the first number.)")
	assert.Contains(t, oneLine(out.String()), "must be 6, got 5.")
	assert.Contains(t, oneLine(out.String()), "the code panics (exercises/01-sum/testdata/wrong/beyond.go:7): it reads beyond the end of a slice")
}

func TestVerifyReportsEveryExerciseThatProvesNothing(t *testing.T) {
	t.Parallel()
	good := "package sum\n\nfunc Sum(xs []int) (t int) {\n\tfor _, x := range xs {\n\t\tt += x\n\t}\n\treturn t\n}\n"
	wrong := "exercises/01-sum/testdata/wrong/"
	r := tinyTree(t, map[string]string{
		wrong + "same.go":     "// It does what the stub does.\npackage sum\n\nfunc Sum([]int) (none int) {\n\treturn none\n}\n",
		wrong + "right.go":    "// It is right, in other words.\n" + good,
		wrong + "equal.go":    "// It is right, in the same words.\n" + tiny["sum/sum.go"],
		wrong + "idle.go":     "// It adds what nobody calls.\npackage sum\n\nfunc idle() {}\n",
		wrong + "nameless.go": good,
		wrong + "broken.go":   "// It does not compile.\npackage sum\n\nfunc Sum([]int) int { return nothing }\n",
	})
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, io.Discard)
	require.Error(t, err)
	for _, want := range []string{
		"a learner is told the same for " + wrong + "same.go as for the stub",
		wrong + "equal.go declares Sum as the reference does: leave it out",
		wrong + "idle.go declares idle, which the reference does not have and nothing in the file uses",
		wrong + "right.go passes all tests: add a test that catches it",
		wrong + "nameless.go must begin with a comment that says which bug it has",
		wrong + "broken.go must compile and fail a test, but it does not compile: ",
	} {
		assert.ErrorContains(t, err, want)
	}

	r = tinyTree(t, map[string]string{wrong + "first.go": "", wrong + "beyond.go": "", "exercises/01-sum/sum.go": good,
		"sum/sum.go": strings.Replace(tiny["sum/sum.go"], "total := 0", "total := 7", 1)})
	err = r.Verify(t.Context(), []Exercise{theExercise(t, r)}, io.Discard)
	assert.ErrorContains(t, err, "the reference sum/sum.go fails a test")
	assert.ErrorContains(t, err, "the stub passes all tests")
	assert.ErrorContains(t, err, "has no wrong solutions")
}

// What the stub leaves out is not there for the functions that it keeps.
func TestVerifyCompilesTheStubAsALearnerDoes(t *testing.T) {
	t.Parallel()
	tree := changed(t, "exercises/01-sum/README.md", "run: Sum", "without: plus\nrun: Sum")
	tree["sum/sum.go"] = strings.Replace(tiny["sum/sum.go"], "total += x", "total = plus(total, x)", 1) +
		"\nfunc plus(a, b int) int { return a + b }\n\n// Twice is given.\nfunc Twice(x int) int { return plus(x, x) }\n"
	r := tinyTree(t, tree)
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, io.Discard)
	assert.ErrorContains(t, err, "the stub must compile and fail a test, but it does not compile: ")
	assert.ErrorContains(t, err, "undefined: plus")
}

func TestAnExerciseWhoseTestsDoNotExistIsTheCoursesMistake(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, changed(t, "exercises/01-sum/README.md", "run: Sum", "run: {tests: Nowhere, packages: [./sum]}"))
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, io.Discard)
	assert.ErrorContains(t, err, "the reference sum/sum.go runs no test")
}

func TestProgressIsFoundByRunningAndNeverStale(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	table := func() string {
		var out strings.Builder
		require.NoError(t, r.Progress(t.Context(), &out, io.Discard))
		return out.String()
	}
	assert.Contains(t, table(), "not started  make exercise-1")
	_, err := r.Setup(theExercise(t, r))
	require.NoError(t, err)
	assert.Contains(t, table(), "not started  edit my/01-sum/sum.go")

	put(t, r.Root, "my/01-sum/sum.go", tiny["sum/sum.go"])
	assert.Contains(t, table(), "done")
	assert.Contains(t, table(), "1 of 1 exercises done; 2 of 3 chapters are written")

	// A remembered result must not outlive a change of what it depends on.
	put(t, r.Root, "sum/sum_test.go", strings.Replace(tiny["sum/sum_test.go"], "got != 6", "got != 66", 1))
	assert.Contains(t, table(), "not yet      fails a test: A sum contains every number")
}

func TestAResultIsRememberedByTheContentOfAllThatWentIn(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": tiny["sum/sum.go"]})
	e := theExercise(t, r)
	name := func() string {
		n, err := r.newRunner(t.Context())
		require.NoError(t, err)
		file, err := n.resultFile(e, mine(t, r))
		require.NoError(t, err)
		return file
	}
	before := name()
	put(t, r.Root, "mean/mean.go", tiny["mean/mean.go"]+"\n// A later chapter.\n")
	put(t, r.Root, "chapters/01-sum/README.md", tiny["chapters/01-sum/README.md"]+"\nText.\n")
	assert.Equal(t, before, name(), "neither a later chapter nor text can change the result")
	for _, input := range []string{"sum/sum_test.go", "my/01-sum/sum.go", "my/01-sum/more.go", "internal/floor/floor.go", "go.mod"} {
		put(t, r.Root, input, tiny[input]+"\n// changed\n")
		after := name()
		assert.NotEqual(t, before, after, input)
		before = after
	}
}

type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestAFileThatWasSavedDuringTheRunIsNotCreditedWithItsResult(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": tiny["sum/sum.go"]})
	e := theExercise(t, r)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	// Whoever shows the output is called between the run and its remembering.
	n.raw = writerFunc(func() { put(t, r.Root, e.Mine(), stub) })
	f, err := n.run(t.Context(), e, mine(t, r))
	require.NoError(t, err)
	require.Equal(t, Passed, f.Status)
	f, err = n.cached(t.Context(), e, mine(t, r))
	require.NoError(t, err)
	assert.Equal(t, Failing, f.Status)
}

func TestHintsComeOneAtATime(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	e := theExercise(t, r)
	hint := func() string {
		var out strings.Builder
		require.NoError(t, r.NextHint(e, &out))
		return out.String()
	}
	assert.Equal(t, "Hint 1 of 2\n\nStart at zero.\n\n", hint())
	assert.Contains(t, r.hintOffer(e), "shows hint 2 of 2")
	assert.Equal(t, "Hint 2 of 2\n\nUse a loop.\n\n", hint())
	assert.Contains(t, r.hintOffer(e), "You have seen all hints")
	assert.Equal(t, "Hint 1 of 2\n\nStart at zero.\n\nHint 2 of 2\n\nUse a loop.\n\n", hint(), "who asks again wants to see them all")
	_, err := r.Reset(e)
	require.NoError(t, err)
	assert.Contains(t, r.hintOffer(e), "shows the first of 2 hints", "who starts again starts with the first hint")
}

func TestTheReferenceIsShownOnlyAfterSuccess(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	e := theExercise(t, r)
	var out strings.Builder
	assert.ErrorContains(t, r.Diff(t.Context(), e, false, &out), "you have not started exercise 1")
	_, err := r.Setup(e)
	require.NoError(t, err)
	assert.ErrorContains(t, r.Diff(t.Context(), e, false, &out), "not solved yet")
	require.NoError(t, r.Diff(t.Context(), e, true, &out))
	assert.Contains(t, out.String(), "-	return 0\n")
	assert.Contains(t, out.String(), "+	total := 0\n")
}

func TestMineUsesTheLearnersFilesButNoStub(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	e := theExercise(t, r)
	_, err := r.Setup(e)
	require.NoError(t, err)
	_, err = r.BuildDemo(t.Context(), 2, true, io.Discard)
	assert.ErrorContains(t, err, "chapter 2 has no demo")
	_, err = r.BuildDemo(t.Context(), 1, true, io.Discard)
	assert.ErrorContains(t, err, "you have no solution for a chapter up to 1 yet")

	put(t, r.Root, e.Mine(), strings.Replace(tiny["sum/sum.go"], "total := 0", "total := 1", 1))
	overlay, _, _, err := r.Mine(2)
	require.NoError(t, err)
	assert.Equal(t, Overlay{"sum/sum.go": "my/01-sum/sum.go"}, overlay)
}
