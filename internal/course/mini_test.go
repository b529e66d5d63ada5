package course

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tinyMini is a book of one page, whose file of mini has two steps. The file of the next chapter
// does not compile without this one, and its test fails.
var tinyMini = map[string]string{
	"mini/listwatch.go": "package mini\n\n// Sum adds.\nfunc Sum(a, b int) int { return a + b }\n\n// Zero is nothing.\nfunc Zero() int { return Sum(0, 0) }\n",
	"mini/listwatch_test.go": `package mini_test

import (
	"testing"

	"example.com/tiny/mini"
)

// Nothing and nothing is nothing.
func TestZeroIsZero(t *testing.T) {
	if mini.Zero() != 0 {
		t.Fatal("zero is not zero")
	}
}

// Two and three are five.
func TestTheSumIsRight(t *testing.T) {
	if got := mini.Sum(2, 3); got != 5 {
		t.Fatalf("2 + 3 is %d", got)
	}
}
`,
	"mini/store.go":      "package mini\n\nvar late = Sum(1, 2)\n",
	"mini/store_test.go": "package mini_test\n\nimport \"testing\"\n\nfunc TestLater(t *testing.T) { t.Fatal(\"this is chapter 2's\") }\n",

	"mini/book/01-sum/README.md":    "# 1. Sum\n\nA sum.\n",
	"mini/book/01-sum/chapter.yaml": "title: Sum\npart: 1\nminutes: 5\nfile: mini/listwatch.go\nexercise: {write: [Sum]}\n",
	"mini/book/01-sum/exercise.md":  "Write Sum.\n\n## Hint 1\n\nUse plus.\n",
	"mini/book/01-sum/wrong.txtar": "-- minus.go --\n// Bug: it subtracts.\n// Caught by: TestTheSumIsRight\npackage mini\n\nfunc Sum(a, b int) int { return a - b }\n" +
		"-- one_more.go --\n// Bug: it counts one more.\n// Caught by: TestZeroIsZero\npackage mini\n\nfunc Sum(a, b int) int { return a + b + 1 }\n",
}

func miniExercise(t *testing.T, r *Repo) Exercise {
	t.Helper()
	found, err := r.FindExercises("m1")
	require.NoError(t, err)
	e, err := One("m1", found)
	require.NoError(t, err)
	return e
}

func TestAFileOfMiniIsProvedBothWaysAndEachMistakeByTheTestThatItNames(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, tinyMini)
	require.NoError(t, r.Verify(t.Context(), []Exercise{miniExercise(t, r)}, io.Discard))

	put(t, r.Root, "mini/book/01-sum/wrong.txtar", "-- minus.go --\n// Bug: it subtracts.\n// Caught by: TestZeroIsZero\npackage mini\n\nfunc Sum(a, b int) int { return a - b }\n")
	err := r.Verify(t.Context(), []Exercise{miniExercise(t, r)}, io.Discard)
	require.ErrorContains(t, err, `minus.go says that it is caught by "TestZeroIsZero", and "TestTheSumIsRight" catches it`)
}

func TestALearnerOfMiniSeesHowFarTheFileIs(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, tinyMini)
	e := miniExercise(t, r)
	try := func() (bool, string) {
		var out bytes.Buffer
		solved, err := r.Try(t.Context(), e, false, &out)
		require.NoError(t, err)
		return solved, out.String()
	}
	solved, out := try()
	assert.False(t, solved)
	assert.Contains(t, out, "Write Sum.")
	assert.Contains(t, out, "1 of 2 tests pass.")
	assert.Contains(t, out, "make write-1")

	mine, err := os.ReadFile(filepath.Join(r.Root, e.Mine()))
	require.NoError(t, err)
	require.Contains(t, string(mine), "return 0", "it is the stub")
	put(t, r.Root, e.Mine(), read(t, r, "mini/listwatch.go"))
	solved, out = try()
	assert.True(t, solved, out)
	assert.Contains(t, out, "make mini-1 MINE=1")
}

// A reader's own file must run in the place of mini's, and the naive program never does.
func TestTheProgramOfAPageRunsOnMiniOrOnTheLearnersFile(t *testing.T) {
	t.Parallel()
	files := maps.Clone(tinyMini)
	delete(files, "mini/store_test.go")
	program := func(code string) string {
		return "package main\n\nimport (\n\t\"os\"\n\n\t\"example.com/tiny/mini\"\n)\n\nfunc main() { os.Exit(" + code + ") }\n"
	}
	files["mini/book/01-sum/main.go"] = program("mini.Sum(20, 3)")
	files["mini/book/01-sum/naive/main.go"] = program("40 + mini.Zero()")
	files["mini/cmd/mini/main.go"] = program("mini.Sum(50, 3)")
	r := tinyTree(t, files)
	play := func(number int, naive, mine bool) int {
		code, err := r.Play(t.Context(), number, naive, mine)
		require.NoError(t, err)
		return code
	}
	assert.Equal(t, 23, play(1, false, false))
	assert.Equal(t, 40, play(1, true, false))
	_, err := r.Play(t.Context(), 2, false, false)
	require.ErrorContains(t, err, "no chapter 2 yet")
	_, err = r.Play(t.Context(), 1, false, true)
	require.ErrorContains(t, err, "`make write-1` begins one")

	mine := strings.Replace(tinyMini["mini/listwatch.go"], "a + b", "a - b", 1)
	put(t, r.Root, miniExercise(t, r).Mine(), mine)
	assert.Equal(t, 17, play(1, false, true))
	code, err := r.PlayControllers(t.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, 47, code)
	code, err = r.PlayControllers(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, 53, code)
}

// What comes later is not the reader's yet: a program of chapter 1 runs on mini's own later files.
func TestAProgramTakesNoFileOfALaterChapterFromTheLearner(t *testing.T) {
	t.Parallel()
	files := maps.Clone(tinyMini)
	files["mini/book/02-late/README.md"] = "# 2. Late\n"
	files["mini/book/02-late/chapter.yaml"] = "title: Late\npart: 1\nminutes: 5\nfile: mini/store.go\nexercise: {write: [late]}\n"
	files["mini/book/02-late/exercise.md"] = "Write late.\n"
	r := tinyTree(t, files)
	found, err := r.FindExercises("m2")
	require.NoError(t, err)
	put(t, r.Root, found[0].Mine(), files["mini/store.go"])
	put(t, r.Root, miniExercise(t, r).Mine(), files["mini/listwatch.go"])
	overlay, err := r.learnersMini(1)
	require.NoError(t, err)
	assert.Len(t, overlay, 1)
	overlay, err = r.learnersMini(2)
	require.NoError(t, err)
	assert.Len(t, overlay, 2)
}

// The table is what a reader of mini sees first.
func TestTheTableOfMiniCountsLinesAndLinksPages(t *testing.T) {
	t.Parallel()
	files := maps.Clone(tinyMini)
	for _, name := range miniOrder {
		if file := "mini/" + name + ".go"; files[file] == "" {
			files[file] = "package mini\n"
		}
	}
	r := tinyTree(t, files)
	d := document{repo: r, file: "mini/README.md"}
	table, err := d.miniTable()
	require.NoError(t, err)
	assert.Contains(t, table, "| 1 | [listwatch.go](listwatch.go) | 3 | [Sum](book/01-sum/README.md) |")
	assert.Contains(t, table, "| 3 | [reflector.go](reflector.go) | 1 |  |")
	assert.Contains(t, table, fmt.Sprintf("|  |  | %d |  |", 3+2+len(miniOrder)-2))
}
