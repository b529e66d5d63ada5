package course

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// ways are plausible bugs that end in every way in which a solution can.
var ways = map[string]string{
	"small.go":    "// Bug: one is missing.\npackage mini\n\nfunc Sum(xs []int) int { return 5 }\n",
	"crash.go":    "// Bug: it crashes.\npackage mini\n\nfunc Sum(xs []int) int { var p *int; return *p }\n",
	"deadlock.go": "// Bug: it waits forever.\npackage mini\n\nfunc Sum(xs []int) int { return <-make(chan int) }\n",
	"exits.go":    "// Bug: it ends the program.\npackage mini\n\nimport \"os\"\n\nfunc Sum(xs []int) int { os.Exit(3); return 6 }\n",
	"second.go":   "// Bug: only the empty sum is wrong.\npackage mini\n\nfunc Sum(xs []int) int { return len(xs) - 3 + 6 }\n",
	"floods.go":   "// Bug: it prints.\npackage mini\n\nfunc Sum(xs []int) int {\n\ttext := \"and so on\"\n\tfor range 14 {\n\t\ttext += text // long, so that a slow machine prints too much in time\n\t}\n\tfor {\n\t\tprintln(text)\n\t}\n}\n",
	"shared.go":   "// Bug: it counts wrong.\npackage mini\n\nconst first = 7\n\nfunc Sum(xs []int) int { return help() }\n\nfunc help() int { return first }\n",
	"right.go":    "// It is right, in other words.\npackage mini\n\nfunc Sum(xs []int) (t int) {\n\tfor i := range xs {\n\t\tt += xs[i]\n\t}\n\treturn t\n}\n",
}

// The short cut must never tell another story than go test does on the
// learner's machine.
func TestManyInOneBinaryAreJudgedAsEachAlone(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"exercises/01-sum/wrong.txtar": mistakes(ways)})
	e := theExercise(t, r)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	n.timeout = 10 * time.Second // a busy machine starts slowly, and prints slowly
	attempts, problems, err := n.attempts(e)
	require.NoError(t, err)
	require.Empty(t, problems)
	b := &batch{n: n, e: e}
	attempts = attempts[1:] // the stub is always compiled on its own
	for _, a := range attempts {
		b.all = append(b.all, a.solution)
	}
	together, err := b.judge(t.Context())
	require.NoError(t, err)
	require.Len(t, together, len(ways))
	assert.Equal(t, []string{"right.go (it passed)", "shared.go (first is no function)"}, b.alone)
	for i, a := range attempts {
		alone, err := n.run(t.Context(), e, a.solution)
		require.NoError(t, err)
		core := func(f gotest.Failure) []string {
			return []string{string(f.Status), f.Test, f.Expected, f.Actual, f.Detail, f.Message}
		}
		assert.Equal(t, core(alone), core(together[i]), a.name)
		assert.Equal(t, alone.In, together[i].In, a.name)
		assert.Equal(t, alone.Line, together[i].Line, a.name)
	}
}

// An author whose file does not compile must hear about this file, and the
// others must be judged all the same.
func TestOneThatDoesNotCompileDoesNotSpoilTheOthers(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"exercises/01-sum/wrong.txtar": tiny["exercises/01-sum/wrong.txtar"] +
		"-- broken.go --\n// Bug: it does not compile.\npackage mini\n\nfunc Sum(xs []int) int { return nothing }\n"})
	var out strings.Builder
	err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, &out)
	require.Error(t, err)
	assert.Contains(t, err.Error(), ".loopwright/course/wrong/01-sum/broken.go must compile and fail a test, but it does not compile: ")
	assert.Contains(t, err.Error(), "broken.go:4:33: undefined: nothing")
	assert.NotContains(t, err.Error(), "problems:", "there is only this one")
	assert.Contains(t, gotest.OneLine(out.String()), "must be 6, got 5.")
}

// If the form with all versions changes what the reference does (more
// allocations, say), it proves nothing about the others.
func TestAReferenceThatFailsInTheBinaryOfAllIsNoProofAgainstIt(t *testing.T) {
	t.Parallel()
	tests := strings.Replace(tiny["mini/sum_test.go"], "import \"testing\"", "import (\n\t\"os\"\n\t\"testing\"\n)", 1) +
		"\nfunc TestSumAlone(t *testing.T) {\n\tif _, set := os.LookupEnv(\"" + selector + "\"); set {\n\t\tt.Error(\"not alone\")\n\t}\n}\n"
	r := tinyTree(t, map[string]string{"mini/sum_test.go": tests})
	var out strings.Builder
	require.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, &out))
	assert.Contains(t, out.String(), "the reference fails a test in the binary of all solutions: ")
	assert.Contains(t, out.String(), "compiled on their own: beyond.go (")
	exercise, further, _ := strings.Cut(out.String(), "going further:")
	assert.Equal(t, 1, strings.Count(exercise, "not alone"), "no solution is caught by it")
	assert.Equal(t, 1, strings.Count(further, "not alone"), "and none that goes further")
}

// A client tells the server the name of its program, and a test may depend on it. If the reference failed for
// that, each solution would be compiled on its own.
func TestTheBinaryOfAllHasTheNameThatGoTestGivesIt(t *testing.T) {
	t.Parallel()
	tests := strings.Replace(tiny["mini/sum_test.go"], "import \"testing\"", "import (\n\t\"os\"\n\t\"path/filepath\"\n\t\"testing\"\n)", 1) +
		"\nfunc TestTheName(t *testing.T) {\n\tif name := filepath.Base(os.Args[0]); name != \"mini.test\" {\n\t\tt.Error(name)\n\t}\n}\n"
	r := tinyTree(t, map[string]string{"mini/sum_test.go": tests})
	var out strings.Builder
	require.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, &out))
	assert.NotContains(t, out.String(), "on their own")
}

// On a machine that's doing ten other things the reference takes long, but it does end. A learner's loop may never end, so
// it's stopped soon.
func TestTheReferenceHasMoreTimeThanALearner(t *testing.T) {
	t.Parallel()
	tests := strings.Replace(tiny["mini/sum_test.go"], "import \"testing\"", "import (\n\t\"flag\"\n\t\"testing\"\n)", 1) +
		"\nfunc TestTheTime(t *testing.T) {\n\tif has := flag.Lookup(\"test.timeout\").Value.String(); has != \"5m0s\" {\n\t\tt.Error(has)\n\t}\n}\n"
	r := tinyTree(t, map[string]string{"mini/sum_test.go": tests, "my/01-sum/sum.go": tiny["mini/sum.go"]})
	e := theExercise(t, r)
	var out strings.Builder
	require.NoError(t, r.Verify(t.Context(), []Exercise{e}, false, &out))
	assert.NotContains(t, out.String(), "on their own", "in the binary of all, too")

	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	alone, err := n.run(t.Context(), e, solution{})
	require.NoError(t, err)
	assert.Equal(t, gotest.Passed, alone.Status, alone.Detail)
	learners, err := n.run(t.Context(), e, mine(t, r))
	require.NoError(t, err)
	assert.Equal(t, "30s", learners.Message)
	own := solution{extra: Overlay{"mini/own_test.go": "my/01-sum/own_test.go"}}
	assert.Equal(t, testTimeout, n.limit(own), "a learner's own tests may never end")
}

func TestVerifySaysWhereTheTimeGoes(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	verify := func() string {
		var out strings.Builder
		require.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, &out))
		return out.String()
	}
	assert.Regexp(t, `2 wrong solutions tried: \d+\.\d s to build, \d+\.\d s to run\n`, verify())
	again := verify()
	assert.Contains(t, again, "all 3 results are remembered")
	assert.Regexp(t, `1 exercises and 7 solutions in \d+\.\d s; the slowest is 01-sum with \d+\.\d s\n$`, again)
}
