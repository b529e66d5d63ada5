package course

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

func theExercise(t *testing.T, r *Repo) Exercise {
	t.Helper()
	e, err := r.FindExercise("1")
	require.NoError(t, err)
	return e
}

func TestAnExerciseIsFoundByItsNumberOrItsName(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, name := range []string{"1", "01", "01-sum"} {
		e, err := r.FindExercise(name)
		require.NoError(t, err)
		assert.Equal(t, "01-sum", e.Name)
	}
	_, err := r.FindExercise("2")
	assert.ErrorContains(t, err, "chapter 2 has no exercise; the exercises are:")
	_, err = r.FindExercise("3")
	assert.ErrorContains(t, err, `there is no exercise "3"; the exercises are:`)
	assert.ErrorContains(t, err, "1  write sum.go")
}

// stub is what the tool makes of the tiny reference.
const stub = `// Exercise 1, write sum.go: you write Sum. The rest is given.

package mini

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
	assert.Equal(t, `exercise 1: write my/01-sum/sum.go

Write Sum.

Your file is my/01-sum/sum.go.
It's a stub: it compiles, but its tests fail.

0 of 2 tests pass. The run stopped at the first failing test, because Sum is
still empty.

"A sum contains every number" isn't true yet: the sum of 1, 2 and 3 must be 6,
got 0. Change Sum in my/01-sum/sum.go; the check that failed is
mini/sum_test.go:8. Read chapters/01-sum/README.md.

Next: edit my/01-sum/sum.go and run `+"`make exercise-1`"+` again.
Stuck? `+"`make hint-1`"+` shows the first of 2 hints.
`, out.String())
}

// In a class, somebody is always the first.
func TestSomebodyWhoHasSolvedAnExerciseIsToldWhatElseThereIs(t *testing.T) {
	t.Parallel()
	tree := twoExercises()
	tree["chapters/01-sum/library.md"] = "# The library: sums\n"
	tree["my/01-sum/sum.go"], tree["my/02-mean/mean.go"] = tiny["mini/sum.go"]+"// Mine.\n", tiny["mini/mean.go"]+"// Mine.\n"
	r := tinyTree(t, tree)
	for name, want := range map[string]string{
		"1": `exercise 1: write my/01-sum/sum.go

Solved: all tests pass on my/01-sum/sum.go.
Next: ` + "`make diff-1`" + ` compares it with the reference,
` + "`make chapter-1 MINE=1`" + ` runs the chapter's program on it (XRAY=1 in a browser, too).
Time left? ` + "`make further-1`" + ` goes further, ` + "`make exercise-2`" + ` is the next one and
chapters/01-sum/library.md says what the library adds.
`,
		"2": `exercise 2: write my/02-mean/mean.go

Solved: all tests pass on my/02-mean/mean.go.
Next: ` + "`make diff-2`" + ` compares it with the reference,
` + "`make chapter-2 MINE=1`" + ` runs the chapter's program on it (XRAY=1 in a browser, too).
`,
	} {
		e, err := r.FindExercise(name)
		require.NoError(t, err)
		var out strings.Builder
		solved, err := r.Try(t.Context(), e, false, &out)
		require.NoError(t, err)
		assert.True(t, solved)
		assert.Equal(t, want, out.String())
	}
}

// A learner wonders about what takes long, and about a warning that it will when it does not.
func TestOnlyWhatTakesLongIsAnnounced(t *testing.T) {
	for takes, want := range map[time.Duration]string{time.Second: "", time.Minute: "compiling\n"} {
		synctest.Test(t, func(t *testing.T) {
			var said strings.Builder
			(&Repo{patience: 3 * time.Second}).announce(&said, "compiling\n", func() { time.Sleep(takes) })
			assert.Equal(t, want, said.String())
		})
	}
}

// A learner goes from function to function. What they have written is right, and waits for what is not
// written yet: there is no goroutine to look for.
func TestALearnerIsToldWhatIsMissingWhenTheTestWaitsForIt(t *testing.T) {
	t.Parallel()
	const close, given = "// Close lets Sum go on.\nfunc Close() {", "\n\nvar done chan struct{}\n"
	written := strings.Replace(tiny["mini/sum.go"], "total := 0", "<-done\n\ttotal := 0", 1)
	tree := map[string]string{
		"mini/sum.go": written + close + " done = make(chan struct{}); close(done) }" + given,
		"mini/sum_test.go": `package mini

import (
	"testing"
	"testing/synctest"
)

func TestASumContainsEveryNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Close()
		Sum([]int{1, 2, 3})
	})
}
`,
		"chapters/01-sum/chapter.yaml": strings.Replace(tiny["chapters/01-sum/chapter.yaml"], "[Sum]", "[Sum, Close]", 1),
		"my/01-sum/sum.go":             written + close + "\n}" + given,
	}
	_, told := try(t, tinyTree(t, tree))
	assert.Contains(t, gotest.OneLine(told), `"A sum contains every number" isn't true yet: the test waits for something that doesn't happen, `+
		"and Close is still empty. Write Close in my/01-sum/sum.go. Read chapters/01-sum/README.md.")

	tree["my/01-sum/sum.go"] = written + close + " println() }" + given
	_, told = try(t, tinyTree(t, tree))
	assert.Contains(t, gotest.OneLine(told), "all goroutines are waiting", "Close is written, and wrong")
}

// The same goes for a test that uses what an empty function returns.
func TestALearnerIsToldWhatIsMissingWhenTheTestPanicsWithoutIt(t *testing.T) {
	t.Parallel()
	const total, given = "// Total is a place for sums.\nfunc Total() *int {", "\n"
	tree := map[string]string{
		"mini/sum.go":                  tiny["mini/sum.go"] + total + " return new(int) }" + given,
		"mini/sum_test.go":             "package mini\n\nimport \"testing\"\n\nfunc TestASumContainsEveryNumber(t *testing.T) { *Total() += Sum([]int{1, 2, 3}) }\n",
		"chapters/01-sum/chapter.yaml": strings.Replace(tiny["chapters/01-sum/chapter.yaml"], "[Sum]", "[Sum, Total]", 1),
		"my/01-sum/sum.go":             tiny["mini/sum.go"] + total + "\n\treturn nil\n}" + given,
	}
	_, told := try(t, tinyTree(t, tree))
	assert.Contains(t, gotest.OneLine(told), `"A sum contains every number" isn't true yet: the test uses a result that isn't there yet, `+
		"and Total is still empty. Write Total in my/01-sum/sum.go. Read chapters/01-sum/README.md.")

	tree["my/01-sum/sum.go"] = tiny["mini/sum.go"] + total + " var none *int; return none }" + given
	_, told = try(t, tinyTree(t, tree))
	assert.Contains(t, gotest.OneLine(told), "the code panics: it uses a nil pointer", "Total is written, and wrong")
}

// The file of a mistake has only what differs from the reference, so the other functions aren't empty.
func TestAFunctionThatAFileDoesNotDeclareIsNotEmpty(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"mine.go": "package mini\n\nfunc Sum(xs []int) int {\n\treturn 0\n}\n", "patch.go": "package mini\n\nfunc other() {}\n",
	})
	e := theExercise(t, r)
	assert.Equal(t, []string{"Sum"}, r.stillEmpty(e, "mine.go"))
	assert.Empty(t, r.stillEmpty(e, "patch.go"))
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
		status gotest.Status
		want   string
	}{
		"a compile error names the learner's own file": {"return undefinedName", gotest.NoCompile, "my/01-sum/sum.go:3:33: undefined: undefinedName"},
		"a nil pointer":        {"var p *int; return *p", gotest.Panicked, "the code panics in Sum (my/01-sum/sum.go:3): it uses a nil pointer, or calls a method on something that's nil."},
		"a panic in words":     {`panic("Sum is not written yet")`, gotest.Panicked, "Sum is not written yet."},
		"an endless loop":      {"for { _ = xs }", gotest.TimedOut, ": a loop never ends"}, // TestCrashesAreToldApart has the rest: Go does not always have a stack
		"a wait forever":       {"return <-make(chan int)", gotest.TimedOut, "Sum (my/01-sum/sum.go:3) waits to receive from a channel; no goroutine sends to it or closes it."},
		"the right answer":     {"t := 0; for _, x := range xs { t += x }; return t", gotest.Passed, ""},
		"printing without end": {`text := "and so on"; for range 14 { text += text }; for { println(text) }`, gotest.Flooding, "the code prints without end"},
		"a second test":        {"return len(xs) - 3 + 6", gotest.Failing, `"The sum of nothing is zero" isn't true yet: the sum of nothing must be 0, got 3.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "package mini\n\nfunc Sum(xs []int) int { " + c.body + " }\n"})
			n, err := r.newRunner(t.Context())
			require.NoError(t, err)
			n.timeout = 10 * time.Second // a busy machine starts slowly
			e := theExercise(t, r)
			f, err := n.run(t.Context(), e, mine(t, r))
			require.NoError(t, err)
			assert.Equal(t, c.status, f.Status)
			if c.status != gotest.Passed {
				assert.Contains(t, gotest.OneLine(r.explain(e, f, e.Mine())), c.want)
			}
		})
	}
}

func TestAChangedSignatureIsExplainedEvenThoughTheErrorIsInTheTest(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "package mini\n\nfunc Total(xs []int) int { return 0 }\n"})
	var out strings.Builder
	_, err := r.Try(t.Context(), theExercise(t, r), true, &out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "    mini/sum_test.go:7:12: undefined: Sum")
	assert.Contains(t, gotest.OneLine(out.String()), "Your file doesn't declare Sum. It needs `func Sum(xs []int) int`, because mini/sum_test.go:7 uses it like this: `if got := Sum([]int{1, 2, 3}); got != 6 {`.")
}

// A learner reads a place in a file that somebody else has written, and must know what to change in their own.
func TestALearnerIsToldWhichSignatureAnotherFileNeeds(t *testing.T) {
	t.Parallel()
	counts := "\ntype Counts struct {\n\tMost int\n}\n\n// Add adds.\nfunc (c *Counts) Add(n int) { c.Most += n }\n"
	for name, c := range map[string]struct{ mine, test, want string }{
		"another parameter": {"package mini\n\nfunc Sum(from int, xs []int) int { return from }\n", "",
			"Your Sum must have the signature `func Sum(xs []int) int`, because mini/sum_test.go:7 uses it like this: `if got := Sum([]int{1, 2, 3}); got != 6 {`. Yours is `func Sum(from int, xs []int) int`."},
		"a method": {tiny["mini/sum.go"] + strings.Replace(counts, "n int)", "n, m int)", 1), "c.Add(3)",
			"Your Counts.Add must have the signature `func (c *Counts) Add(n int)`, because mini/sum_test.go:20 uses it like this: `c.Add(3)`. Yours is `func (c *Counts) Add(n, m int)`."},
		"a field": {tiny["mini/sum.go"] + "\ntype Counts struct {\n}\n\nfunc (c *Counts) Add(n int) {}\n", "c.Most = 3",
			"Your `type Counts` lacks something. Add it, because mini/sum_test.go:20 uses it like this: `c.Most = 3`."},
		"a name that is taken":                    {tiny["mini/sum.go"] + counts + "\nfunc all() {}\n", "all()", "mini/total.go:3 declares all already: give yours another name."},
		"what has nothing to do with a signature": {tiny["mini/sum.go"] + counts, "nothing()", "keep the names and the signatures that the stub had (`make reset-1`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := tiny["mini/sum_test.go"]
			if c.test != "" {
				test += "\nfunc TestCounts(t *testing.T) {\n\tvar c Counts\n\t" + c.test + "\n\t_ = c\n}\n"
			}
			_, told := try(t, tinyTree(t, map[string]string{"mini/sum.go": tiny["mini/sum.go"] + counts, "mini/sum_test.go": test, "mini/total.go": "package mini\n\nfunc all() {}\n", "my/01-sum/sum.go": c.mine}))
			assert.Contains(t, gotest.OneLine(told), c.want)
			assert.NotContains(t, told, "tests pass", "none has been run")
		})
	}
}

// Whoever has filled it in must not hear that it's theirs.
func TestTheReferenceIsNotTakenForTheLearnersWork(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": tiny["mini/sum.go"]})
	solved, told := try(t, r)
	assert.True(t, solved)
	assert.Contains(t, told, "my/01-sum/sum.go is the reference, which was filled in: all tests pass.\nNext: `make reset-1` gives you the stub")
	assert.NotContains(t, told, "Solved")

	var said strings.Builder
	_, _, err := r.learnersMini(1, &said)
	require.NoError(t, err)
	assert.Equal(t, "using my/01-sum/sum.go: it is the reference, which was filled in\n", said.String())
}

// The race detector needs everything compiled a second time, and a learner wonders why it takes that long again.
func TestTheRaceDetectorsCompilationIsAnnounced(t *testing.T) {
	t.Parallel()
	plain, race := Exercise{}, Exercise{Race: true}
	n := &runner{raceOK: true}
	assert.NotContains(t, n.compiling(plain), "race")
	assert.Contains(t, n.compiling(race), "all that they use\nis compiled once more")
	n.raceOK = false
	assert.Equal(t, n.compiling(plain), n.compiling(race), "without a C compiler there is no race detector")
}

// "0 of 2" would be wrong about somebody whose one rounding is off. While functions are empty, the tests after the
// first that fails may wait for them, and the learner for the tests.
func TestALearnersRunStopsAtTheFirstFailureOnlyWhileFunctionsAreEmpty(t *testing.T) {
	t.Parallel()
	test := strings.Replace(tiny["mini/sum_test.go"], "if got := Sum(nil)", "for Sum([]int{7}) == 0 {\n\t}\n\tif got := Sum(nil)", 1)
	const five = "package mini\n\nfunc Sum(xs []int) int { return 5 }\n"
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": five, "exercises/01-sum/wrong.txtar": mistakes(map[string]string{
		"five.go": "// It is always 5.\n// Caught by: TestASumContainsEveryNumber\n" + five})})
	_, told := try(t, r)
	assert.Contains(t, told, "0 of 2 tests pass.\n")
	assert.Contains(t, told, "\nAlso failing: \"The sum of nothing is zero\".\n\nNext: ")

	put(t, r.Root, "mini/sum_test.go", test)
	put(t, r.Root, "my/01-sum/sum.go", stub)
	_, told = try(t, r)
	assert.Contains(t, gotest.OneLine(told), "0 of 2 tests pass. The run stopped at the first failing test, because Sum is still empty.")

	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	n.failFast = true // as verify, which is quicker so
	e := theExercise(t, r)
	attempts, _, err := n.attempts(e)
	require.NoError(t, err)
	f, err := n.run(t.Context(), e, attempts[1].solution)
	require.NoError(t, err)
	assert.Equal(t, "TestASumContainsEveryNumber", f.Test)
	assert.Empty(t, f.Others)
}

func TestVerifyProvesAnExerciseBothWaysAndShowsWhatALearnerIsTold(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	var out strings.Builder
	require.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, &out))
	assert.Contains(t, out.String(), "first.go (It skips the first number.)")
	assert.Contains(t, gotest.OneLine(out.String()), "must be 6, got 5.")
	assert.Contains(t, gotest.OneLine(out.String()), "the code panics in Sum (.loopwright/course/wrong/01-sum/beyond.go:8): it reads beyond the end of a slice")
}

// `make test` proves less, in less time: that each mistake is caught by the test that it names.
func TestByNameAMistakeMeetsOnlyTheTestThatItNames(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"exercises/01-sum/wrong.txtar": mistakes(map[string]string{
		"later.go": "// Two tests catch it, and it names the second.\n// Caught by: TestTheSumOfNothingIsZero\npackage mini\n\nfunc Sum([]int) int { return 5 }\n",
		"none.go":  "// The test that it names does not catch it.\n// Caught by: TestTheSumOfNothingIsZero\npackage mini\n\nfunc Sum([]int) int { return 0 }\n",
		"type.go":  "// It is compiled on its own.\n// Caught by: TestASumContainsEveryNumber\npackage mini\n\nconst none = 0\n\nfunc Sum([]int) int { return none }\n",
	})})
	var out strings.Builder
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, true, &out)
	require.EqualError(t, err, "exercise 1: .loopwright/course/wrong/01-sum/none.go passes TestTheSumOfNothingIsZero: add a test that catches it, or remove it")
	assert.Contains(t, out.String(), "compiled on their own: none.go (it passed), type.go (none is no function)")
	assert.Contains(t, out.String(), "the stub (Nothing is written yet.)\n    \"A sum contains every number\" isn't true yet")

	err = r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, io.Discard)
	require.ErrorContains(t, err, `later.go says that it is caught by "TestTheSumOfNothingIsZero", and "TestASumContainsEveryNumber" catches it`, "what one test has said is not what all say")
}

// The stub is what a learner's first run compiles, and the short cut must not hide that it does not.
func TestByNameAStubThatDoesNotCompileIsReported(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	n.byName = true
	e := theExercise(t, r)
	attempts, problems, err := n.attempts(e)
	require.NoError(t, err)
	require.Empty(t, problems)
	attempts[0].content = append(attempts[0].content, "\nvar x = nothing\n"...)
	_, verdicts, err := n.judgeAttempts(t.Context(), e, attempts, io.Discard)
	require.NoError(t, err)
	require.Equal(t, gotest.NoCompile, verdicts[0].Status)
	require.Contains(t, verdicts[0].Detail, "sum.go:11: undefined: nothing")
}

func TestVerifyReportsEveryExerciseThatProvesNothing(t *testing.T) {
	t.Parallel()
	good := "package mini\n\nfunc Sum(xs []int) (t int) {\n\tfor _, x := range xs {\n\t\tt += x\n\t}\n\treturn t\n}\n"
	r := tinyTree(t, map[string]string{"exercises/01-sum/wrong.txtar": mistakes(map[string]string{
		"another.go":  "// It is caught by another test.\n// Caught by: TestTheSumOfNothingIsZero\npackage mini\n\nfunc Sum([]int) int { return 5 }\n",
		"right.go":    "// It is right, in other words.\n" + good,
		"equal.go":    "// It is right, in the same words.\n" + tiny["mini/sum.go"],
		"idle.go":     "// It adds what nobody calls.\npackage mini\n\nfunc idle() {}\n",
		"nameless.go": good,
		"broken.go":   "// It does not compile.\npackage mini\n\nfunc Sum([]int) int { return nothing }\n",
	})})
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, io.Discard)
	require.Error(t, err)
	const wrong = ".loopwright/course/wrong/01-sum/"
	for _, want := range []string{
		`another.go says that it is caught by "TestTheSumOfNothingIsZero", and "TestASumContainsEveryNumber" catches it`,
		wrong + "equal.go declares Sum as the reference does: leave it out",
		wrong + "idle.go declares idle, which the reference does not have and nothing in the file uses",
		wrong + "right.go passes all tests: add a test that catches it",
		wrong + "nameless.go must begin with a comment that says which bug it has",
		wrong + "broken.go must compile and fail a test, but it does not compile: ",
	} {
		assert.ErrorContains(t, err, want)
	}

	r = tinyTree(t, map[string]string{
		"exercises/01-sum/wrong.txtar": "nothing\n",
		"mini/sum_test.go":             strings.ReplaceAll(tiny["mini/sum_test.go"], "got != 6", "got == 6"),
	})
	err = r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, io.Discard)
	assert.ErrorContains(t, err, "the reference mini/sum.go fails a test")
	assert.ErrorContains(t, err, "the stub passes all tests")
	assert.ErrorContains(t, err, "has no wrong solutions")
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
	assert.Contains(t, table(), "begun        still the stub: edit my/01-sum/sum.go")

	put(t, r.Root, "my/01-sum/sum.go", tiny["mini/sum.go"])
	assert.Contains(t, table(), "reference    make reset-1 gives you the stub")
	assert.Contains(t, table(), "0 of 1 exercises done")
	put(t, r.Root, "my/01-sum/sum.go", strings.Replace(tiny["mini/sum.go"], "total", "sum", -1))
	assert.Contains(t, table(), "done")
	assert.Contains(t, table(), "1 of 1 exercises done")

	// A remembered result must not outlive a change of what it depends on.
	put(t, r.Root, "mini/sum_test.go", strings.Replace(tiny["mini/sum_test.go"], "got != 6", "got != 66", 1))
	assert.Contains(t, table(), "not yet      fails a test: A sum contains every number")
}

func TestAResultIsRememberedByTheContentOfAllThatWentIn(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": tiny["mini/sum.go"]})
	e := theExercise(t, r)
	name := func() string {
		n, err := r.newRunner(t.Context())
		require.NoError(t, err)
		given, err := n.inputsOf(e)
		require.NoError(t, err)
		file, err := n.resultFile(given, e, mine(t, r))
		require.NoError(t, err)
		return file
	}
	before := name()
	put(t, r.Root, "mini/mean.go", tiny["mini/mean.go"]+"\n// A later chapter.\n")
	put(t, r.Root, "chapters/01-sum/README.md", tiny["chapters/01-sum/README.md"]+"\nText.\n")
	assert.Equal(t, before, name(), "neither a later chapter nor text can change the result")
	for _, input := range []string{"mini/sum_test.go", "my/01-sum/sum.go", "my/01-sum/more.go", "internal/floor/floor.go", "go.mod"} {
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
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": tiny["mini/sum.go"]})
	e := theExercise(t, r)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	// Whoever shows the output is called between the run and its remembering.
	n.raw = writerFunc(func() { put(t, r.Root, e.Mine(), stub) })
	f, err := n.run(t.Context(), e, mine(t, r))
	require.NoError(t, err)
	require.Equal(t, gotest.Passed, f.Status)
	f, err = n.cached(t.Context(), e, mine(t, r))
	require.NoError(t, err)
	assert.Equal(t, gotest.Failing, f.Status)
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
	assert.Contains(t, r.hintOffer(e), "You've seen all hints")
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
	assert.ErrorContains(t, r.Diff(t.Context(), e, false, &out), "you haven't started exercise 1")
	_, err := r.Setup(e)
	require.NoError(t, err)
	assert.ErrorContains(t, r.Diff(t.Context(), e, false, &out), "isn't solved yet")
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
	var told strings.Builder
	_, _, err = r.learnersMini(2, &told)
	assert.ErrorContains(t, err, "none of the files up to chapter 2 is yours yet: `make exercise-2` begins one")
	assert.Contains(t, told.String(), "not using my/01-sum/sum.go: it is still the stub")

	put(t, r.Root, e.Mine(), strings.Replace(tiny["mini/sum.go"], "total := 0", "total := 1", 1))
	overlay, _, err := r.learnersMini(2, &told)
	require.NoError(t, err)
	assert.Equal(t, []string{"mini/sum.go"}, sortedKeys(overlay))
	overlay, _, err = r.learnersMini(0, &told)
	require.Error(t, err, "what comes later is not the reader's yet")
	assert.Empty(t, overlay)
}

// A reader's own file must run in the place of mini's.
func TestAProgramRunsOnMiniOrOnTheLearnersFile(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	c, err := r.FindChapter("1")
	require.NoError(t, err)
	play := func(naive, mine bool) int {
		code, err := r.Play(t.Context(), c, naive, mine, io.Discard)
		require.NoError(t, err)
		return code
	}
	assert.Equal(t, 23, play(false, false))
	assert.Equal(t, 40, play(true, false))
	_, err = r.Play(t.Context(), c, false, true, io.Discard)
	require.ErrorContains(t, err, "`make exercise-1` begins one")
	put(t, r.Root, "my/01-sum/sum.go", strings.Replace(tiny["mini/sum.go"], "total += x", "total -= x", 1))
	assert.Equal(t, 256-23, play(false, true))
	code, err := r.PlayControllers(t.Context(), true, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 256-53, code)
	code, err = r.PlayControllers(t.Context(), false, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 53, code)
}

// A reader compares their own file with mini's. If there's no benchmark, the benchmarks' command says so, and nobody else.
func TestTheBenchmarkOfAChapterHasTheLearnersFiles(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"benchmarks/go.mod": "module example.com/benchmarks\n\ngo 1.26\n",
		"benchmarks/cmd/chapters/main.go": `package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println(os.Args[1:3])
	if len(os.Args) > 4 {
		text, err := os.ReadFile(os.Args[4])
		fmt.Println(os.Args[3], string(text), err)
	}
	os.Exit(len(os.Args))
}
`,
	})
	c, err := r.FindChapter("1")
	require.NoError(t, err)
	var out strings.Builder
	code, err := r.Bench(t.Context(), c, false, &out)
	require.NoError(t, err)
	assert.Equal(t, 1, code, "go run's, whatever the program's is")
	assert.Contains(t, out.String(), "[-chapter 1]\n")
	assert.NotContains(t, out.String(), "overlay")

	_, err = r.Bench(t.Context(), c, true, &out)
	require.ErrorContains(t, err, "`make exercise-1` begins one")
	put(t, r.Root, "my/01-sum/sum.go", strings.Replace(tiny["mini/sum.go"], "total += x", "total -= x", 1))
	_, err = r.Bench(t.Context(), c, true, &out)
	require.NoError(t, err)
	assert.Regexp(t, `-overlay \{.*mini/sum.go.*\} <nil>`, out.String())

	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = r.Bench(stopped, c, false, &out)
	require.ErrorIs(t, err, context.Canceled, "Ctrl-C is no failure of the benchmark's")
}

// Without this, learners who play the exam too early would see mini pass it, and take that for their own success.
func TestTheExamNeedsAFileOfTheLearners(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"internal/simulation/cmd/simulate/main.go": `package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println(os.Args[1:])
}
`,
	})
	var out strings.Builder
	_, err := r.Exam(t.Context(), []string{"-seeds", "3"}, false, &out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "[-mini -seeds 3]\n")
	put(t, r.Root, "my/01-sum/sum.go", tiny["mini/sum.go"])
	_, err = r.Exam(t.Context(), nil, true, &out)
	require.ErrorContains(t, err, "you have neither yet")
}

// Somebody who joins at chapter 2 needs chapter 1, and must not lose what is there.
func TestCatchingUpFillsInWhatIsNotSolvedAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"my/01-sum/sum.go":              "package mini\n\nfunc Sum([]int) int { return 5 }\n",
		"chapters/02-mean/chapter.yaml": tiny["chapters/02-mean/chapter.yaml"] + "exercise: {write: [Mean.Of]}\n",
		"exercises/02-mean/README.md":   "Divide.\n",
		"mini/mean_test.go":             "package mini\n",
	})
	second, err := r.FindExercise("2")
	require.NoError(t, err)
	catchUp := func() string {
		var out strings.Builder
		require.NoError(t, r.CatchUp(t.Context(), second, &out))
		return out.String()
	}
	assert.Equal(t, "your work is kept in my/01-sum/sum.go.1\nmy/01-sum/sum.go is the reference now\n", catchUp())
	assert.Equal(t, tiny["mini/sum.go"], read(t, r, "my/01-sum/sum.go"))
	assert.Contains(t, read(t, r, "my/01-sum/sum.go.1"), "return 5")
	assert.Equal(t, "my/01-sum/sum.go stays: it's the reference, which was filled in\n", catchUp())
	put(t, r.Root, "my/01-sum/sum.go", strings.ReplaceAll(tiny["mini/sum.go"], "total", "sum"))
	assert.Equal(t, "my/01-sum/sum.go stays: you've solved it\n", catchUp())
}
