package course

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

const (
	bugFile  = "my/01-sum-bug/sum.go"
	bugTests = "my/01-sum-bug/find_test.go"
)

// bug is one call of `course bug 1`.
func bug(t *testing.T, r *Repo, options BugOptions) (missed bool, told string) {
	t.Helper()
	var out strings.Builder
	missed, err := r.Bug(t.Context(), theExercise(t, r), options, &out)
	require.NoError(t, err)
	return missed, out.String()
}

// finds is a test that fails if the sum of xs is not the one that it expects.
func finds(xs, want string) string {
	return "package mini\n\nimport \"testing\"\n\nfunc TestFind(t *testing.T) {\n\tif got := Sum([]int{" + xs + "}); got != " + want + " {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n"
}

const correctedSum = "package mini\n\nfunc Sum(xs []int) (t int) {\n\tfor _, x := range xs {\n\t\tt += x\n\t}\n\treturn t\n}\n"

func TestAPlantedFileGivesNothingAway(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": correctedSum, "my/01-sum/more.go": "package mini\n"})
	missed, told := bug(t, r, BugOptions{})
	assert.False(t, missed, "there was nothing to find yet")
	assert.Equal(t, `exercise 1: find the mistake in my/01-sum-bug/sum.go

One thing in this file is wrong; the rest is the reference. Find it in one of two ways:

- Correct the file. `+"`make chapter-1 BUG=1`"+` runs the chapter's program on it (XRAY=1 in a browser, too).
- Leave it, and write a test into a file beside it, such as find_test.go, in package mini. It has to fail on
  this file, and pass on the reference.

Then run `+"`make bug-1`"+` again.
`, told)
	planted := read(t, r, bugFile)
	assert.Contains(t, planted, "// Sum adds up.\nfunc Sum(", "with the comments of the reference")
	for _, file := range []string{bugFile, "my/01-sum-bug/.hunt.json"} {
		for _, secret := range []string{"skips", "one too many", "Caught by", "first", "beyond"} {
			assert.NotContains(t, read(t, r, file), secret)
		}
	}
	missed, told = bug(t, r, BugOptions{})
	assert.True(t, missed)
	assert.Contains(t, told, "you haven't changed the file, and there's no test of yours beside it.\nStuck? `make bug-1 HINT=1`")
	assert.Equal(t, planted, read(t, r, bugFile))
	assert.Equal(t, correctedSum, read(t, r, "my/01-sum/sum.go"), "the learner's solution is another file")
}

func TestALearnerWhoCorrectsTheFileHasFoundTheMistake(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	bug(t, r, BugOptions{})
	planted := read(t, r, bugFile)
	put(t, r.Root, bugFile, planted+"\n// I wonder.\n")
	missed, told := bug(t, r, BugOptions{})
	assert.True(t, missed)
	assert.Contains(t, told, "the mistake is still in it")
	put(t, r.Root, bugFile, strings.Replace(planted, "return t", "return nothing", 1))
	_, told = bug(t, r, BugOptions{})
	assert.Contains(t, told, "It doesn't compile:\n\n    my/01-sum-bug/sum.go:9:9: undefined: nothing\n")
	put(t, r.Root, bugFile, strings.Replace(correctedSum, "return t", "return max(t, 1)", 1))
	_, told = bug(t, r, BugOptions{})
	assert.Contains(t, gotest.OneLine(told), `Not found yet, or your change breaks something else. "The sum of nothing is zero" isn't true yet`)

	put(t, r.Root, bugFile, correctedSum)
	missed, told = bug(t, r, BugOptions{})
	assert.False(t, missed)
	assert.Contains(t, told, "Found: all tests pass on your file.\n\nThe mistake: It ")
	assert.Contains(t, told, "Mini's TestASumContainsEveryNumber catches it: ")
	assert.Contains(t, told, "You've found 1 of 2. `make bug-1` plants the next one.\n")

	_, told = bug(t, r, BugOptions{})
	assert.Contains(t, told, "Your file is kept in my/01-sum-bug/sum.go.1.\n")
	assert.Equal(t, correctedSum, read(t, r, bugFile+".1"))
	assert.NotEqual(t, planted, read(t, r, bugFile), "the learner has had this one")

	var progress strings.Builder
	require.NoError(t, r.Progress(t.Context(), &progress, io.Discard))
	assert.Contains(t, progress.String(), "0 of 1 exercises done\nplanted mistakes found: 1\n")
	put(t, r.Root, bugFile, correctedSum)
	bug(t, r, BugOptions{})
	_, told = bug(t, r, BugOptions{})
	assert.Contains(t, told, "There are no more: you've found 2 of 2. To start over, remove my/01-sum-bug.\n")
	assert.Equal(t, correctedSum, read(t, r, bugFile))
	require.NoError(t, os.RemoveAll(r.Abs("my/01-sum-bug")))
	bug(t, r, BugOptions{})
	assert.Equal(t, planted, read(t, r, bugFile), "it begins again")
}

func TestATestThatFailsOnThePlantedFileAloneCatchesTheMistake(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	bug(t, r, BugOptions{})
	for _, c := range []struct{ test, want string }{
		{finds("2, 3", "6"), `Not caught yet: TestFind fails on the reference, too, so it tests something that isn't promised: got 5.`},
		{"package mini\n\nimport \"testing\"\n\nfunc TestFind(*testing.T) {}\n", "your tests pass on the planted file, as they do on the reference."},
		{finds("", "wrong"), "It doesn't compile: my/01-sum-bug/find_test.go:6:33: undefined: wrong"},
		{"package mini\n", "there's no test of yours beside it"},
	} {
		put(t, r.Root, bugTests, c.test)
		missed, told := bug(t, r, BugOptions{})
		assert.True(t, missed)
		assert.Contains(t, gotest.OneLine(told), c.want)
	}
	put(t, r.Root, bugTests, finds("2, 3", "5"))
	missed, told := bug(t, r, BugOptions{})
	assert.False(t, missed)
	assert.Contains(t, told, "Caught: TestFind fails on the planted file, and passes on the reference.\n\nThe mistake: It ")

	_, told = bug(t, r, BugOptions{})
	assert.NotContains(t, told, "Your file is kept in", "nothing was written into the planted file")
	assert.Contains(t, told, "Your test is kept in my/01-sum-bug/find_test.go.1.\n", "it's about the mistake before")
	assert.Equal(t, finds("2, 3", "5"), read(t, r, bugTests+".1"))
	assert.NoFileExists(t, r.Abs(bugTests))
}

func TestHintsLeadFromWhatAUserSeesToTheMistake(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	bug(t, r, BugOptions{})
	for _, want := range []string{
		"Hint 1 of 3. This isn't true: \"A sum contains every number\".\n",
		"Hint 2 of 3. Look at Sum.\n",
		"Hint 3 of 3. It ",
		"Hint 1 of 3. This isn't true: \"A sum contains every number\".\nHint 2 of 3. Look at Sum.\nHint 3 of 3. It ",
	} {
		missed, told := bug(t, r, BugOptions{Hint: true})
		assert.False(t, missed)
		_, hint, _ := strings.Cut(told, "\n\n")
		assert.True(t, strings.HasPrefix(hint, want), hint)
	}
}

// What a learner has written must outlive whatever happens around it.
func TestAHuntGoesOnWhateverHasChanged(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	bug(t, r, BugOptions{})
	first := read(t, r, bugFile)
	require.NoError(t, os.Remove(r.Abs(bugFile)))
	bug(t, r, BugOptions{})
	assert.Equal(t, first, read(t, r, bugFile), "a file that was removed is planted again")

	put(t, r.Root, bugFile, correctedSum)
	_, told := bug(t, r, BugOptions{Again: true})
	assert.Contains(t, told, "Your file is kept in my/01-sum-bug/sum.go.1.")
	second := read(t, r, bugFile)
	assert.NotEqual(t, first, second)

	put(t, r.Root, "exercises/01-sum/wrong.txtar", "\n")
	_, err := r.Bug(t.Context(), theExercise(t, r), BugOptions{}, io.Discard)
	require.ErrorContains(t, err, "the course no longer has this mistake: `make bug-1 AGAIN=1` keeps your file, and plants another one")
	assert.Equal(t, second, read(t, r, bugFile))

	put(t, r.Root, "exercises/01-sum/wrong.txtar", tiny["exercises/01-sum/wrong.txtar"])
	put(t, r.Root, bugFile, correctedSum)
	put(t, r.Root, "my/01-sum-bug/.hunt.json", "not JSON")
	bug(t, r, BugOptions{})
	assert.Equal(t, correctedSum, read(t, r, bugFile+".2"))

	put(t, r.Root, bugFile, tiny["mini/sum.go"])
	_, told = bug(t, r, BugOptions{Again: true})
	assert.NotContains(t, told, "is kept in", "the reference is nobody's work")
	assert.Equal(t, second, read(t, r, bugFile))
}

// A learner can't find what no test shows.
func TestAMistakeThatDoesNotShowIsNotPlanted(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"exercises/01-sum/wrong.txtar": mistakes(map[string]string{
		"right.go": "// Nothing is wrong.\n// Caught by: TestASumContainsEveryNumber\n" + correctedSum,
	})})
	_, told := bug(t, r, BugOptions{})
	assert.Contains(t, told, "There are no more: you've found 0 of 1.")
	assert.NoFileExists(t, r.Abs(bugFile))
}

func TestAProgramRunsOnThePlantedFile(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	c, err := r.FindChapter("1")
	require.NoError(t, err)
	_, err = r.PlayBug(t.Context(), c, io.Discard)
	require.ErrorContains(t, err, "there is no my/01-sum-bug/sum.go: `make bug-1` plants a mistake")
	put(t, r.Root, "my/01-sum-bug/sum.go", sum("return 77"))
	put(t, r.Root, "my/01-sum/sum.go", sum("return 78"))
	code, err := r.PlayBug(t.Context(), c, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 77, code)
	code, err = r.Play(t.Context(), c, false, true, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 78, code)
}

// A planted file is no solution of the learner's.
func TestNoPlantedFileReachesTheTeacher(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	bug(t, r, BugOptions{})
	require.ErrorContains(t, r.Submit(t.Context(), "ada", io.Discard), "there is nothing of yours in my/ yet")
	put(t, r.Root, "my/01-sum/sum.go", sum("return 6"))
	require.NoError(t, r.Submit(t.Context(), "ada", io.Discard))
	assert.NotContains(t, read(t, r, "my/ada.txtar"), "bug")

	dir := aClass(t, map[string]string{"ben/01-sum-bug/sum.go": correctedSum, "ben/01-sum/sum.go": sum("return 7")})
	text, _ := classTable(t, r, dir, ClassOptions{})
	assert.Contains(t, text, "\nben      0 of 2  0")
}

// A hunt is for one mistake: the file compiles, has no word about it, and records as much as the reference does.
func TestEveryMistakeOfTheCourseCanBeHunted(t *testing.T) {
	t.Parallel()
	r, err := Open("../..")
	require.NoError(t, err)
	exercises, err := r.allExercises()
	require.NoError(t, err)
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedCompiledGoFiles,
		Dir:  r.Root, Fset: token.NewFileSet(),
	}, miniPackage)
	require.NoError(t, err)
	library := packageNamed(t, loaded, r.Module+"/mini")
	for _, e := range exercises {
		reference := read(t, r, e.Replaces)
		all, err := r.mistakes(e)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		known := append([]string{"doc"}, miniOrder[:1+slices.Index(miniOrder, stem(e.Replaces))]...)
		for _, m := range all {
			name, text := e.Name+"/"+filepath.Base(m.file), string(m.text)
			assert.NotEqual(t, reference, text, name)
			assert.NotContains(t, text, "Bug:", name)
			assert.NotContains(t, text, "Caught by:", name)
			records := func(text string) int { return strings.Count(text, "ecord(") + strings.Count(text, "WithReconcile(") }
			assert.GreaterOrEqual(t, records(text), records(reference), "%s: X-ray must show what it shows of the reference", name)
			file, err := parser.ParseFile(library.Fset, e.Replaces, m.text, parser.ParseComments)
			require.NoError(t, err, name)
			planted := *library
			planted.Syntax = append(slices.DeleteFunc(slices.Clone(library.Syntax), func(f *ast.File) bool {
				return filepath.Base(library.Fset.File(f.Pos()).Name()) == path.Base(e.Replaces)
			}), file)
			check(t, name, &planted, nil, known)
		}
	}
}
