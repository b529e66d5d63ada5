package course

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

func try(t *testing.T, r *Repo) (solved bool, told string) {
	t.Helper()
	var out strings.Builder
	solved, err := r.Try(t.Context(), theExercise(t, r), false, &out)
	require.NoError(t, err)
	return solved, out.String()
}

// A learner who splits a long function into files must not be punished for it.
func TestFilesNextToTheFirstAreCompiledWithIt(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"my/01-sum/sum.go":    "package mini\n\nfunc Sum(xs []int) int { return addUp(xs) }\n",
		"my/01-sum/helper.go": "package mini\n\nfunc addUp(xs []int) (t int) {\n\tfor _, x := range xs {\n\t\tt += x\n\t}\n\treturn t\n}\n",
		"my/01-sum/sum.go.1":  "package mini\n",
		"my/01-sum/_old.go":   "package mini\n\nfunc addUp() {}\n",
	})
	solved, told := try(t, r)
	assert.True(t, solved, told)

	put(t, r.Root, "my/01-sum/helper.go", "package mini\n\nfunc addUp(xs []int) int { return xs[7] }\n")
	_, told = try(t, r)
	assert.Contains(t, gotest.OneLine(told), "the code panics in addUp (my/01-sum/helper.go:3): it reads beyond the end of a slice")
	put(t, r.Root, "my/01-sum/helper.go", "package mini\n\nfunc addUp(xs []int) int { return nothing }\n")
	_, told = try(t, r)
	assert.Contains(t, told, "    my/01-sum/helper.go:3:35: undefined: nothing")
	assert.Contains(t, told, "Correct the first line above first")

	// The demo takes them along.
	put(t, r.Root, "my/01-sum/helper.go", "package mini\n\nfunc addUp(xs []int) int { return 77 }\n")
	code, err := r.Play(t.Context(), Chapter{Number: 1, Dir: "chapters/01-sum"}, false, true, &strings.Builder{})
	require.NoError(t, err)
	assert.Equal(t, 77, code)
}

// It would hide a file that the package needs, and nobody would understand why.
func TestAFileWithTheNameOfOneThatExistsIsRefused(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"my/01-sum/sum.go":      "package mini\n",
		"my/01-sum/sum_test.go": "package mini\n",
	})
	_, err := r.Try(t.Context(), theExercise(t, r), false, &strings.Builder{})
	assert.ErrorContains(t, err, "my/01-sum/sum_test.go cannot be compiled with your sum.go: mini/sum_test.go exists already")
}

// The go command names no place for it, or that of the reference.
func TestAFileThatBelongsToNoPackageOrAnotherIsNamed(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/helper.go": "// Helps.\npackage main\n"})
	_, told := try(t, r)
	assert.Contains(t, told, "Your code doesn't compile yet:\n\n    my/01-sum/helper.go:2:9: package main: it must be package mini\n")
	assert.NotContains(t, told, "keep the names and the", "nothing is wrong with the other file")

	put(t, r.Root, "my/01-sum/helper_test.go", "package mini_test\n")
	put(t, r.Root, "my/01-sum/helper.go", "package mini\n")
	_, told = try(t, r)
	assert.NotContains(t, told, "does not compile", "a test may be outside the package")
	put(t, r.Root, "my/01-sum/sum.go", "")
	_, told = try(t, r)
	assert.Contains(t, told, "    my/01-sum/sum.go:1:1: expected 'package', found 'EOF'\n", told)
	_, err := r.Play(t.Context(), Chapter{Number: 1, Dir: "chapters/01-sum"}, false, true, &strings.Builder{})
	assert.ErrorContains(t, err, "my/01-sum/sum.go:1:1: expected 'package', found 'EOF'")
}

// gopls loads the directory of the file that is open. If that is not a whole
// package, it reports every name of the package as unknown and completes none.
func TestTheLearnersDirectoryIsAWholePackageForAnEditor(t *testing.T) {
	t.Parallel()
	tree := changed(t, "mini/sum.go", "total := 0", "total := zero")
	tree["mini/zero.go"] = "package mini\n\nconst zero = 0\n"
	tree["my/01-sum/sum.go"] = tree["mini/sum.go"]
	tree["my/01-sum/own.go"] = "package mini\n"
	r := tinyTree(t, tree)
	vet := func() string {
		cmd := r.goCommand(t.Context(), "vet", "./my/01-sum")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	assert.Contains(t, vet(), "undefined: zero")
	solved, told := try(t, r)
	require.True(t, solved, told)
	assert.Empty(t, vet())
	files := func() string {
		names, err := filepath.Glob(r.Abs("my/01-sum/*.go"))
		require.NoError(t, err)
		return strings.ReplaceAll(strings.Join(names, " "), r.Abs("my/01-sum")+"/", "")
	}
	assert.Equal(t, "own.go sum.go zero.go", files(), "neither tests nor files of later chapters")

	// A file of the package that was renamed must not be left behind as a dead link.
	require.NoError(t, os.Rename(r.Abs("mini/zero.go"), r.Abs("mini/sum_zero.go")))
	solved, told = try(t, r)
	require.True(t, solved, told)
	assert.Equal(t, "own.go sum.go sum_zero.go", files())
	assert.Empty(t, vet())
	list, err := r.goOutput(t.Context(), "list", "./...")
	require.NoError(t, err)
	assert.NotContains(t, string(list), "/my/", "go build ./... must not see the copy")
}

// A learner of chapter 2 who has left out chapter 1 opens the directory, and would read the solution.
func TestNoSolutionOfAnotherExerciseIsInTheLearnersDirectory(t *testing.T) {
	t.Parallel()
	tree := changed(t, "chapters/02-mean/chapter.yaml", "mean.go\n", "mean.go\nexercise: {write: [Mean.Of]}\n")
	tree["exercises/02-mean/README.md"] = "# Write Mean\n"
	tree["mini/mean_test.go"] = "package mini\n\nimport \"testing\"\n\nfunc TestTheMeanOfOneIsIt(t *testing.T) {\n\tif (*Mean)(nil).Of([]int{2}) != 2 {\n\t\tt.Fail()\n\t}\n}\n"
	tree["my/02-mean/mean.go"] = tiny["mini/mean.go"]
	tree["my/02-mean/.package/sum.go"] = tiny["mini/sum.go"] // of an earlier version of the course
	r := tinyTree(t, tree)
	require.NoError(t, os.Symlink(".package/sum.go", r.Abs("my/02-mean/sum.go")))
	e, err := r.FindExercise("2")
	require.NoError(t, err)
	var told strings.Builder
	solved, err := r.Try(t.Context(), e, false, &told)
	require.NoError(t, err)
	require.True(t, solved, &told)
	assert.Contains(t, read(t, r, "my/02-mean/sum.go"), "func Sum(xs []int) int {\n\t// Yours to write.\n\treturn 0\n}")
	entries, err := os.ReadDir(r.Abs("my/02-mean"))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the file, and a link: %v", entries)
	assert.Contains(t, read(t, r, "my/README.md"), "are links, so that your editor", "nobody knows what the links are")
	out, err := r.goCommand(t.Context(), "vet", "./my/02-mean").CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// A learner follows a definition from their own file, tries something there, and saves.
func TestNothingThatALearnerSavesFromAnEditorChangesTheLibrary(t *testing.T) {
	t.Parallel()
	tree := changed(t, "mini/sum.go", "total := 0", "total := zero")
	tree["mini/zero.go"] = "package mini\n\nconst zero = 0\n"
	tree["my/01-sum/sum.go"] = tree["mini/sum.go"]
	r := tinyTree(t, tree)
	// An earlier version of the course left a link to the library itself.
	require.NoError(t, os.Symlink("../../mini/zero.go", r.Abs("my/01-sum/zero.go")))
	open := func() {
		solved, told := try(t, r)
		require.True(t, solved, told)
	}
	open()
	saved := r.Abs("my/01-sum/zero.go")
	file, err := filepath.EvalSymlinks(saved)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, "-r--r--r--", info.Mode().String(), "an editor must say that the file is read-only")

	// Some editors offer to write a read-only file.
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, os.WriteFile(saved, []byte("package mini\n\nconst zero = 1\n"), 0o644))
	assert.Equal(t, tree["mini/zero.go"], read(t, r, "mini/zero.go"), "the reference must not change")
	open()
	assert.Equal(t, tree["mini/zero.go"], read(t, r, "my/01-sum/zero.go"), "the copy must be as the reference again")

	// Others rename a new file to the old name. This must not be taken for the library's.
	require.NoError(t, os.Remove(saved))
	require.NoError(t, os.WriteFile(saved, []byte("package mini\n\nconst zero = 1\n"), 0o644))
	_, err = r.Try(t.Context(), theExercise(t, r), false, &strings.Builder{})
	assert.ErrorContains(t, err, "mini/zero.go exists already and is needed, too")
	assert.Equal(t, tree["mini/zero.go"], read(t, r, "mini/zero.go"))
}

func TestWhatTheCodePrintsIsShownWithinBounds(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": `package mini

import "fmt"

func Sum(xs []int) int {
	for i := range 99 {
		fmt.Println("step", i, "of", len(xs))
	}
	return 5
}
`})
	_, told := try(t, r)
	assert.Contains(t, told, "Your code printed:\n\n    ... 59 lines before these\n    step 59 of 3\n")
	assert.Contains(t, told, "    step 98 of 3\n\n0 of 2 tests pass.\n\n\"A sum contains")
	assert.Contains(t, gotest.OneLine(told), "must be 6, got 5.", "what it prints is no part of the explanation")
}

func TestWhatASolutionPrintsIsNotShown(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": `package mini

import "fmt"

func Sum(xs []int) (sum int) {
	fmt.Println("ERROR: injected fault")
	fmt.Println("    sum_test.go:0: injected, too, and no file has such a line")
	for _, x := range xs {
		sum += x
	}
	return sum
}
`})
	solved, told := try(t, r)
	assert.True(t, solved, told)
	assert.NotContains(t, told, "injected", "the tests let requests fail, and controllers log it")
}

func TestACrashOfADemoIsExplainedLikeAFailedTest(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": "package mini\n", "my/01-sum/more.go": "package mini\n"})
	crash := "step 1\npanic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nexample.com/tiny/mini.Sum(...)\n\t" +
		r.Abs("my/01-sum/sum.go") + ":9 +0x1d\nmain.main()\n\t/x/main.go:4 +0x1d\n"
	text, err := r.explainCrash(1, crash)
	require.NoError(t, err)
	assert.Equal(t, "In the demo, the code panics in Sum (my/01-sum/sum.go:9): it uses a nil pointer, or calls a method on something that's nil. Change Sum in my/01-sum/sum.go. Read chapters/01-sum/README.md. `make exercise-1` tests it.", gotest.OneLine(text))

	text, err = r.explainCrash(1, strings.Replace(crash, "sum.go:9", "more.go:2", 1))
	require.NoError(t, err)
	assert.Contains(t, gotest.OneLine(text), "Change Sum in my/01-sum/more.go.")

	text, err = r.explainCrash(1, "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n\t/x/main.go:4 +0x1d\n")
	require.NoError(t, err)
	assert.Contains(t, gotest.OneLine(text), "none of your files is in the stack trace above")

	text, err = r.explainCrash(1, "course: the demo is done with exit code 3\n")
	require.NoError(t, err)
	assert.Empty(t, text, "a demo that ends with an error has said why")
}

func TestTheFunctionThatCrashedIsNamedAsTheExerciseNamesIt(t *testing.T) {
	e := Exercise{Function: []string{"dedup.add", "later", "Cursor.Saw"}}
	for line, want := range map[string]string{
		"github.com/x/workqueue.(*dedup[...]).add(0xc000, {0x1, 0x2})": "dedup.add",
		"github.com/x/workqueue.later(...)":                            "later",
		"github.com/x/informer.Cursor.Saw({0x1, 0x2}, 0x3)":            "Cursor.Saw",
		"github.com/x/workqueue.(*Queue[...]).other(0xc000)":           "dedup.add, later or Cursor.Saw",
		"github.com/x/workqueue.(*dedup[go.shape.int]).add.func1.2()":  "dedup.add",
		"github.com/x/workqueue.later.gowrap3()":                       "later",
		"github.com/x/workqueue.later__12.func1()":                     "later",
	} {
		f, crashed := gotest.Crash("panic: x\n\ngoroutine 1:\n"+line+"\n\t/x/my/a.go:7 +0x1", []string{"my/a.go"})
		require.True(t, crashed)
		assert.Equal(t, want, functionOf(f, e), line)
	}
}
