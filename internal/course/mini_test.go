package course

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
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
