package course

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sum is a solution with a body of its own.
func sum(body string) string {
	return "package mini\n\nfunc Sum(xs []int) int {\n\t" + body + "\n}\n"
}

// aClass writes learners' directories, next to the tree and not in it.
func aClass(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func classTable(t *testing.T, r *Repo, dir string, o ClassOptions) (table, status string) {
	t.Helper()
	var out, progress strings.Builder
	require.NoError(t, r.Class(t.Context(), dir, o, &out, &progress))
	return out.String(), progress.String()
}

// A teacher with twenty learners wants to see whom to help, and with what.
func TestATeacherSeesWhoNeedsHelpAndWithWhat(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	right := "s := 0\n\tfor _, x := range xs {\n\t\ts += x\n\t}\n\treturn s"
	dir := aClass(t, map[string]string{
		"anna/01-sum/sum.go":        sum(right),
		"ben/01-sum/sum.go":         sum("return 5"),
		"ben2/01-sum/sum.go":        sum("return 5"),
		"cleo/01-sum/sum.go":        stub,
		"dora/01-sum/sum.go":        sum("return len(x)"),
		"emil/notes.txt":            "nothing yet",
		"fay/my/01-sum/sum.go":      sum("return 6"),
		"gina/01-sum/sum.go":        sum("return help(xs)"),
		"gina/01-sum/help.go":       "package mini\n\nfunc help(xs []int) int { return len(xs) * 3 }\n",
		"hugo/01-sum/sum.go":        sum("return help(xs)"),
		"hugo/01-sum/sum_test.go":   "package mini\n",
		"ines/01-sum/sum.go":        sum("for {\n\t}"),
		"jack/01-sum/sum.go":        sum("var p *int\n\treturn *p"),
		".git/HEAD":                 "no learner",
		"a file, and no learner.md": "",
	})
	text, status := classTable(t, r, dir, ClassOptions{Timeout: 5 * time.Second})
	assert.Equal(t, `learner  1                 solved
anna     solved            1
ben      0 of 2            0
ben2     0 of 2            0
cleo     not begun         0
dora     does not compile  0
emil     not begun         0
fay      1 of 2            0
gina     1 of 2            0
hugo     does not compile  0
ines     0 of 2            0
jack     0 of 2            0

ben, 1: "A sum contains every number" isn't true
ben2, 1: "A sum contains every number" isn't true
dora, 1: sum.go:4:13: undefined: x
fay, 1: "The sum of nothing is zero" isn't true
gina, 1: "A sum contains every number" isn't true
hugo, 1: 01-sum/sum_test.go cannot be compiled with your sum.go: mini/sum_test.go exists already
  and is needed, too. Give your file another name, or remove it if it is only a copy
ines, 1: "A sum contains every number" isn't true: the code does not end
jack, 1: "A sum contains every number" isn't true: the code panics
`, text)
	assert.Equal(t, "exercise 1: 7 solutions to judge ...\n", status, "what two learners have alike is judged once")
}

// A teacher must not take for a learner's what the course has put there: make catch-up, and the
// copies for editors, which are files where the directory was copied by a tool that follows links.
// One who has the course in an older version has older copies.
func TestCopiesOfTheReferenceAreNoLearners(t *testing.T) {
	t.Parallel()
	tree := changed(t, "mini/sum.go", "total := 0", "total := zero")
	tree["mini/zero.go"] = "package mini\n\nconst zero = 0\n"
	r := tinyTree(t, tree)
	r.Order = []string{"zero", "sum", "mean"}
	e := theExercise(t, r)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	put(t, r.Root, "my/01-sum/sum.go", sum("for _, x := range xs[1:] {\n\t\treturn 2 * x + 2\n\t}\n\treturn 0"))
	put(t, r.Root, "my/01-sum/help.go", "package mini\n\nvar _ = zero\n")
	require.NoError(t, n.linkPackage(e))
	require.FileExists(t, r.Abs("my/01-sum/zero.go"))

	dir := aClass(t, map[string]string{
		"anna/01-sum/sum.go":  tree["mini/sum.go"],
		"ben/01-sum/sum.go":   sum("return 5"),
		"ben/01-sum/zero.go":  tree["mini/zero.go"],
		"cleo/01-sum/sum.go":  sum("return 5"),
		"cleo/01-sum/zero.go": "// Package mini was larger.\npackage mini\n\nconst zero, one = 0, 1\n",
	})
	require.NoError(t, os.Symlink(r.Abs("README.md"), filepath.Join(dir, "ben/01-sum/readme.go")))
	for name, flag := range map[string]string{"dora": "-RL", "emil": "-RP"} {
		require.NoError(t, exec.Command("cp", flag, r.Abs("my"), filepath.Join(dir, name)).Run())
	}
	text, _ := classTable(t, r, dir, ClassOptions{})
	assert.Regexp(t, `(?m)^anna +filled in +0$`, text)
	assert.Regexp(t, `(?m)^ben +0 of 2 +0$`, text)
	assert.Regexp(t, `(?m)^cleo +0 of 2 +0$`, text)
	assert.Regexp(t, `(?m)^dora +1 of 2 +0$`, text, "links were followed")
	assert.Regexp(t, `(?m)^emil +1 of 2 +0$`, text, "links were copied, and lead nowhere")
}

// What a learner hears from the tool and what the teacher says must be the same.
func TestAClassIsJudgedAsEachLearnerIs(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	e := theExercise(t, r)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	n.timeout = 5 * time.Second
	var all []solution
	for i, body := range []string{"return 5", "return 6", "return len(xs) * 2", "var p *int\n\treturn *p", "x := 1\n\treturn 6", "return undefined", "return <-make(chan int)"} {
		home := filepath.Join(classDir, "x", strconv.Itoa(i))
		put(t, r.Root, filepath.Join(home, "01-sum/sum.go"), sum(body))
		s, err := r.learnerIn(home, e)
		require.NoError(t, err)
		all = append(all, s)
	}
	together, err := n.judgeLearners(t.Context(), e, all)
	require.NoError(t, err)
	for i, s := range all {
		alone, err := n.run(t.Context(), e, s)
		require.NoError(t, err)
		assert.Equal(t, verdictOf(e, alone), verdictOf(e, together[i]), "%s", s.content)
	}
}

// A learner's directory is somebody's work, and perhaps a checkout.
func TestNothingIsWrittenWhereLearnersWork(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	dir := aClass(t, map[string]string{"anna/01-sum/sum.go": sum("return 5"), "ben/01-sum/sum.go": sum("return 6"), "ben/01-sum/sum_mine_test.go": "package mini\n"})
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0))
	}))
	classTable(t, r, dir, ClassOptions{})
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		assert.Equal(t, time.Unix(1, 0), info.ModTime(), "%s was written, or something in it", p)
		return nil
	}))
	left, err := os.ReadDir(r.Abs(classDir))
	require.NoError(t, err)
	assert.Empty(t, left, "copies of the solutions are left")
	left, err = os.ReadDir(r.Abs(filepath.Join(stateDir, classDir)))
	require.NoError(t, err)
	assert.Empty(t, left, "the compiler's copies are left")
}

// The second look of a day is quick: only what has changed is judged again.
func TestWhatIsKnownIsNotJudgedAgain(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	dir := aClass(t, map[string]string{"anna/01-sum/sum.go": sum("return 5"), "ben/01-sum/sum.go": sum("return len(xs) + 1 - 1")})
	first, status := classTable(t, r, dir, ClassOptions{})
	assert.Equal(t, "exercise 1: 2 solutions to judge ...\n", status)
	second, status := classTable(t, r, dir, ClassOptions{})
	assert.Empty(t, status)
	assert.Equal(t, first, second)
	put(t, dir, "ben/01-sum/sum.go", sum("return 6"))
	third, status := classTable(t, r, dir, ClassOptions{})
	assert.Equal(t, "exercise 1: 1 solution to judge ...\n", status)
	assert.NotEqual(t, first, third)
}

// After the class the machine is as it was before.
func TestWhatALearnersCodeHasStartedEndsWithItsTests(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	file := filepath.Join(t.TempDir(), "pid")
	dir := aClass(t, map[string]string{"anna/01-sum/sum.go": `package mini

import (
	"os"
	"os/exec"
	"strconv"
)

func Sum(xs []int) int {
	cmd := exec.Command("sleep", "300")
	_ = cmd.Start()
	_ = os.WriteFile("` + file + `", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
	return 5
}
`})
	classTable(t, r, dir, ClassOptions{})
	text, err := os.ReadFile(file)
	require.NoError(t, err, "the learner's code was not run")
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !runs(pid) }, time.Minute, 10*time.Millisecond, "process %d goes on", pid)
}

// runs reports whether a process does more than wait for its parent to take notice of its end.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestADirectoryWithoutLearnersIsAnError(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	dir := t.TempDir()
	assert.ErrorContains(t, r.Class(t.Context(), dir, ClassOptions{}, io.Discard, io.Discard), "there are no learners in "+dir)
	assert.ErrorContains(t, r.Class(t.Context(), dir+"/none", ClassOptions{}, io.Discard, io.Discard), "looking for learners")
	for _, look := range []func(context.Context, string, ClassOptions, io.Writer, io.Writer) error{
		r.Class, r.WatchClass, r.ServeClass,
	} {
		err := look(t.Context(), dir+"/none", ClassOptions{}, io.Discard, io.Discard)
		assert.ErrorContains(t, err, "\nMake the directory: `mkdir -p \""+dir+"/none\"`")
	}
}

// Ctrl-C ends it, and no copies stay behind.
func TestAnInterruptedClassLeavesNothing(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	dir := aClass(t, map[string]string{"anna/01-sum/sum.go": sum("for {\n\t}")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Class(ctx, dir, ClassOptions{}, io.Discard, io.Discard), context.Canceled)
	left, err := filepath.Glob(r.Abs(classDir + "/*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
