package mutants

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the tests expect")

const here = "internal/mutants/testdata/"

func moduleRoot(t *testing.T) string {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	return root
}

// If the list of mutants changed without anybody looking, a summary that is checked in would say
// something else than it seems to. Everything in the list compiles behind its switch, or build
// would have dropped it.
func TestEachOperatorFindsItsMistakes(t *testing.T) {
	tree, err := load(context.Background(), moduleRoot(t), here+"operators")
	require.NoError(t, err)
	s, err := tree.build([]string{here + "operators/operators.go"})
	require.NoError(t, err)
	var got strings.Builder
	for _, m := range s.mutants {
		got.WriteString(strings.TrimPrefix(m.String(), here) + "\n")
	}
	golden(t, "testdata/operators.golden", got.String())
}

// A tool that calls a mutant killed that the tests cannot notice hides a missing test.
func TestMistakesThatNobodyNoticesAreFound(t *testing.T) {
	out, err := runShelf(t, Options{Verbose: true})
	require.ErrorIs(t, err, errNotGood, "a file below its target is an error")
	require.Contains(t, out, "survived: shelf/shelf.go:16: Shelf.Put: boundary: len(s.spare) < keep -> len(s.spare) <= keep")
	require.Contains(t, out, "killed: shelf/shelf.go:16: Shelf.Put: condition: len(s.spare) < keep -> false")
	require.Contains(t, out, "hung: shelf/shelf.go:32: Shelf.Count: delete: i++")
	require.Contains(t, out, "uncovered: shelf/shelf.go:39: Shelf.Clear: delete: s.spare = nil")
	golden(t, "testdata/shelf.golden", out)
}

func TestAMutantThatDoesTheSameIsLeftOut(t *testing.T) {
	was := equivalents
	defer func() { equivalents = was }()
	const same = here + "shelf/shelf.go: Shelf.Put: boundary: len(s.spare) < keep"
	equivalents = "other.go: Other: boundary\n" + same + "\n"
	out, _ := runShelf(t, Options{Verbose: true})
	require.NotContains(t, out, "boundary: len(s.spare) < keep")
	require.Contains(t, out, "condition: len(s.spare) < keep")

	equivalents += same + "\n"
	_, err := runShelf(t, Options{})
	require.ErrorContains(t, err, "take this line out, there is no such mutant: Shelf.Put: boundary")
}

// With a test that fails anyway every mutant would look killed.
func TestTestsThatFailWithoutAMutantJudgeNothing(t *testing.T) {
	o := Options{Root: moduleRoot(t), Files: []string{here + "broken/broken.go"}, Jobs: 1}
	err := Run(context.Background(), o, &bytes.Buffer{})
	require.ErrorContains(t, err, "TestOneIsTwo killed with no mutant active")
	require.ErrorContains(t, err, "one is not two")
}

// A function with switches is larger, so that a test that counts allocations may fail with them. It
// says nothing about a mutant, and the others must be able to judge without it.
func TestATestThatOnlyTheSwitchesBreakIsLeftOut(t *testing.T) {
	var printed bytes.Buffer
	err := Run(context.Background(), Options{Root: moduleRoot(t), Files: []string{here + "inlined/inlined.go"}, Jobs: 1, Verbose: true}, &printed)
	out := strings.ReplaceAll(printed.String(), here, "")
	require.NoError(t, err, out)
	require.Contains(t, out, "all 1 tests pass with none of them active")
	require.Contains(t, out, "TestACounterIsNotAllocated passes without the switches only, so it judges nothing")
	require.Contains(t, out, "killed: inlined/inlined.go:7: Counter: arithmetic: n++ -> n-- (1 tests: TestACounterCounts)")
}

func TestAFileThatDoesNotExistIsNamed(t *testing.T) {
	o := Options{Root: moduleRoot(t), Files: []string{here + "shelf/shelves.go"}, Jobs: 1}
	require.ErrorContains(t, Run(context.Background(), o, &bytes.Buffer{}), "there is no file "+here+"shelf/shelves.go")
}

// The switches are worth nothing if a mistake behind one is not the mistake in the code.
func TestMistakesInTheSourceItselfGetTheSameVerdict(t *testing.T) {
	l, outcomes := shelf(t)
	var out bytes.Buffer
	differ, err := l.check(context.Background(), outcomes, 4, rand.New(rand.NewPCG(1, 1)), &out)
	require.NoError(t, err)
	require.Zero(t, differ, out.String())
	require.Equal(t, 4, strings.Count(out.String(), ": same\n"), out.String())
}

// A check that could not find a difference would prove nothing.
func TestACheckFindsAVerdictThatIsWrong(t *testing.T) {
	l, outcomes := shelf(t)
	for _, o := range outcomes {
		if o.Operator == "boundary" {
			o.verdict = killed
			var out bytes.Buffer
			differ, err := l.check(context.Background(), []Outcome{o}, 1, rand.New(rand.NewPCG(1, 1)), &out)
			require.NoError(t, err)
			require.Equal(t, 1, differ, out.String())
			return
		}
	}
	t.Fatal("the shelf has no mutant of a boundary")
}

// The limit of a test begins with the test. If one that started was not seen, its mutants would be
// called hung although they are not.
func TestEachTestIsSeenWhenItStarts(t *testing.T) {
	var started []string
	out := tail{started: func(test string) { started = append(started, test) }}
	for _, part := range []string{"=== RUN   TestA\n--- PASS: Te", "stA (0.00s)\n=== RUN   TestB", "\n=== RUN   TestB/a_part\n", "printed === RUN   FuzzC\n"} {
		_, _ = out.Write([]byte(part))
	}
	require.Equal(t, []string{"TestA", "TestB", "FuzzC"}, started)
}

// shelf runs the mutants of the shelf.
func shelf(t *testing.T) (*lab, []Outcome) {
	ctx := context.Background()
	files := []string{here + "shelf/shelf.go"}
	tree, err := load(ctx, moduleRoot(t), here+"shelf")
	require.NoError(t, err)
	s, err := tree.build(files)
	require.NoError(t, err)
	// One loop that never ends is enough for the tests of this package.
	var few []*Mutant
	for _, m := range s.mutants {
		if m.Function == "Shelf.Put" {
			few = append(few, m)
		}
	}
	s.mutants = few
	l, err := prepare(ctx, s, 2, t.TempDir())
	require.NoError(t, err)
	outcomes, err := l.file(ctx, files[0], func(int, int) {})
	require.NoError(t, err)
	require.NotEmpty(t, outcomes)
	return l, outcomes
}

// runShelf runs the tool on the shelf and returns what it prints, without times and directories.
func runShelf(t *testing.T, o Options) (string, error) {
	o.Root, o.Files, o.Jobs = moduleRoot(t), []string{here + "shelf/shelf.go"}, 2
	var out bytes.Buffer
	err := Run(context.Background(), o, &out)
	text := strings.ReplaceAll(out.String(), here, "")
	text = regexp.MustCompile(`(; )?[0-9]+(m[0-9]+)?s\)`).ReplaceAllString(text, ")")
	return regexp.MustCompile(`\([0-9]+ tests: [^)]*\)`).ReplaceAllString(text, ""), err
}

func golden(t *testing.T, file, got string) {
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "if the change is right: go test ./internal/mutants -update")
}
