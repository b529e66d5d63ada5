package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// course is the built command. The exit code, the signals and the standard
// streams are what a reader's shell sees, so the real thing is run.
var courseBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "course-test-")
	if err != nil {
		panic(err)
	}
	courseBinary = filepath.Join(dir, "course")
	if out, err := exec.Command("go", "build", "-o", courseBinary, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// demo is a chapter's demo that shows what it was given.
const poll = `poll:
  question: What is it called?
  answers:
    - {text: "reference", right: true}
    - {text: "stub", why: The reference is not a stub.}
    - {text: "nothing", why: It has a name.}
`

const demo = `package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"

	"example.com/tiny/mini"
)

func main() {
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Print(mini.Name(), " ", os.Getenv("GREETING"), " ", line)
	if os.Getenv("WAIT") != "" {
		signals := make(chan os.Signal, 9)
		signal.Notify(signals, os.Interrupt)
		fmt.Println("ready")
		<-signals
		fmt.Println("cleaned up, signals left:", len(signals))
	}
	os.Exit(7)
}
`

// further is the test of the task that goes further, with a solution and a mistake.
const further = `-- further_test.go --
package mini

import "testing"

// A short long name would say nothing.
func TestTheLongNameIsLonger(t *testing.T) {
	if len(Long()) <= len(Name()) {
		t.Error("the long name must be longer than the name")
	}
}
-- solution.go --
package mini

func Long() string { return Name() + Name() }
-- same.go --
// Bug: it's the same.
// Caught by: TestTheLongNameIsLonger
package mini

func Long() string { return Name() }
`

func tinyTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	const chapter, task = "chapters/01-list-watch/", "exercises/01-list-watch/"
	for name, text := range map[string]string{
		"go.mod":                       "module example.com/tiny\n\ngo 1.26\n\nignore ./my\n",
		"mini/listwatch.go":            "package mini\n\nfunc Name() string { return \"reference\" }\n",
		"mini/listwatch_test.go":       "package mini\n\nimport \"testing\"\n\nfunc TestTheLibraryHasAName(t *testing.T) {\n\tif Name() == \"\" {\n\t\tt.Error(\"the name must not be empty\")\n\t}\n}\n",
		"docs/glossary.md":             "# Glossary\n",
		"docs/workshops.yaml":          "class: 1\nshares: {tell: 30, predict: 10, run: 10, write: 50}\nways: [{way: All of it}]\n",
		"mini/cmd/demo/main.go":        demo,
		"mini/cmd/mini/main.go":        demo,
		chapter + "main.go":            demo,
		chapter + "naive/main.go":      strings.Replace(demo, `mini.Name(), " "`, `"naive "+mini.Name(), " "`, 1),
		chapter + "README.md":          "# 1. List, then watch\n\n<!-- snippet file=mini/listwatch.go symbol=imports -->\n```go\n// mini/listwatch.go\n\npackage mini\n```\n\n<!-- snippet file=mini/listwatch.go symbol=Name body=false -->\n```go\n// mini/listwatch.go\n\nfunc Name() string\n```\n\n<details>\n\n<!-- snippet file=mini/listwatch.go symbol=Name doc=false title=false -->\n```go\nfunc Name() string { return \"reference\" }\n```\n</details>\n\n<!-- output file=testdata/bench.txt -->\n```text\na name\n```\n",
		chapter + "testdata/bench.txt": "a name\n",
		chapter + "chapter.yaml":       "title: List, then watch\npart: 1\nminutes: 5\nneeds: [Go]\nafter: list\nfile: mini/listwatch.go\nexercise: {write: [Name]}\n" + poll,
		task + "README.md":             "Name it.\n\n<details>\n<summary>Hint 1</summary>\n\nAny name.\n</details>\n\n## Go further\n\nWrite `func Long() string`.\n",
		task + "further.txtar":         further,
		task + "wrong.txtar":           "-- a.go --\n// It shouts before it fails.\n// Caught by: TestTheLibraryHasAName\npackage mini\n\nimport \"os\"\n\nfunc Name() string { return os.Args[99] }\n",
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return root
}

func run(t *testing.T, root string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(root, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.Stdin = strings.NewReader("from stdin\n")
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

func command(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(courseBinary, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GREETING=hello", "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

func TestADemoHasTheCallersInputEnvironmentAndExitCode(t *testing.T) {
	t.Parallel()
	root := tinyTree(t)
	code, out, errOut := run(t, root, "chapter", "1")
	assert.Equal(t, 7, code, errOut)
	assert.Equal(t, "reference hello from stdin\n", out)
	for _, command := range []string{"demo", "controllers"} {
		code, out, _ = run(t, root, command)
		assert.Equal(t, 7, code)
		assert.Equal(t, "reference hello from stdin\n", out)
	}
	code, out, _ = run(t, root, "chapter", "1", "--naive")
	assert.Equal(t, 7, code)
	assert.Equal(t, "naive reference hello from stdin\n", out)

	require.NoError(t, os.MkdirAll(filepath.Join(root, "my/01-list-watch"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "my/01-list-watch/listwatch.go"), []byte("package mini\n\nfunc Name() string { return \"mine\" }\n"), 0o644))
	code, out, errOut = run(t, root, "chapter", "--mine", "01-list-watch")
	assert.Equal(t, 7, code)
	assert.Equal(t, "mine hello from stdin\n", out)
	assert.Contains(t, errOut, "using your my/01-list-watch/listwatch.go")
}

func TestCtrlCReachesTheDemoOnceSoThatItCanCleanUp(t *testing.T) {
	t.Parallel()
	for _, mine := range []bool{false, true} {
		root := tinyTree(t)
		args := []string{"chapter", "1"}
		if mine {
			args = append(args, "--mine")
			require.NoError(t, os.MkdirAll(filepath.Join(root, "my/01-list-watch"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, "my/01-list-watch/listwatch.go"), []byte("package mini\n\nfunc Name() string { return \"mine\" }\n"), 0o644))
		}
		interrupted(t, command(root, args...))
	}
}

func interrupted(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(cmd.Env, "WAIT=1")
	cmd.Stdin = strings.NewReader("\n")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &watched{ready: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	require.NoError(t, cmd.Start())
	select {
	case <-out.ready:
	case <-time.After(2 * time.Minute):
		t.Fatal("the demo did not start")
	}
	// A terminal sends the signal to the whole process group.
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	_ = cmd.Wait()
	assert.Equal(t, 7, cmd.ProcessState.ExitCode())
	assert.Contains(t, out.text.String(), "cleaned up, signals left: 0")
}

// watched closes ready when the demo says that it is. Only the goroutine that
// copies the demo's output writes to it.
type watched struct {
	text  bytes.Buffer
	ready chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("ready")) {
		close(w.ready)
	}
	return w.text.Write(p)
}

func TestEveryAnswerHasTheRightExitCodeAndSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	root := tinyTree(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"chapters", 0, " 1  List, then watch"},
		{"chapter 77", 1, "there is no chapter \"77\"; the chapters are:"},
		{"chapter x", 1, "there is no chapter \"x\"; the chapters are:"},
		{"chapter 1 --mine", 1, "`make exercise-1` begins one"},
		{"exercise 8", 1, "there is no exercise \"8\"; the exercises are:"},
		{"exercise 1", 1, "the name must not be empty."},
		{"exercise -v 1", 1, "--- FAIL: TestTheLibraryHasAName"},
		{"hint 1", 0, "Any name."},
		{"diff 1", 1, "isn't solved yet"},
		{"chapter 1 --bug", 1, "`make bug-1` plants a mistake"},
		{"bug 1", 0, "find the mistake in my/01-list-watch-bug/listwatch.go"},
		{"bug 1", 1, "you haven't changed the file"},
		{"bug 1 --hint", 0, "The library has a name"},
		{"bug 1 --again", 0, "There are no more: you've found 0 of 1"},
		{"further 1", 1, "First solve exercise 1"},
		{"verify", 0, "a.go (It shouts before it fails.)"},
		{"reset 1", 0, "my/01-list-watch/listwatch.go is the stub again"},
		{"progress", 0, "0 of 1 exercises done"},
		{"solve 1", 0, "my/01-list-watch/listwatch.go is the reference now"},
		{"further 1", 1, "It needs `func Long() string`"},
		{"catch-up 1", 0, ""},
		{"progress", 0, "make reset-1 gives you the stub"},
		{"submit", 1, "there is nothing of yours in my/ yet"},
		{"submit --name ../x", 1, "\"../x\" cannot be the name of your file"},
		{"class none", 1, "looking for learners"},
		{"class none --watch", 1, "looking for learners"},
		{"class none --serve --port 0", 1, "looking for learners"},
		{"check", 0, ""},
		{"sync", 0, ""},
		{"drift", 1, "no chapter mentions an original: there is nothing to compare"},
		{"frob", 1, `unknown command "frob"`},
	} {
		code, out, errOut := run(t, root, strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, out, errOut)
		assert.Contains(t, out+errOut, c.want, c.args)
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "my/01-list-watch/listwatch.go"), []byte("package mini\n"), 0o644))
	code, out, errOut := run(t, root, "reset", "1")
	assert.Equal(t, 0, code, errOut)
	assert.Contains(t, out, "your work is kept in my/01-list-watch/listwatch.go.1")

	code, _, errOut = run(t, t.TempDir(), "chapters")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "run this inside the checkout, or pass --root")
}

// Learners know their own file, not the reference that it stands in for.
func TestWhatGoesWrongInADemoIsShownInTheLearnersFile(t *testing.T) {
	t.Parallel()
	root := tinyTree(t)
	mine := filepath.Join(root, "my/01-list-watch/listwatch.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	for text, place := range map[string]string{
		"package mini\n\nconst name = nothing\n\nfunc Name() string { return name }\n":     "my/01-list-watch/listwatch.go:3:14",
		"package mini\n\nfunc Name() string {\n\tvar none []string\n\treturn none[1]\n}\n": "In the demo, the code panics in Name (my/01-list-watch/listwatch.go:5): it reads beyond the end of a slice",
	} {
		require.NoError(t, os.WriteFile(mine, []byte(text), 0o644))
		code, _, errOut := run(t, root, "chapter", "--mine", "1")
		assert.NotZero(t, code)
		assert.Contains(t, strings.Join(strings.Fields(errOut), " "), place)
		assert.NotContains(t, strings.ReplaceAll(errOut, "my/01-list-watch/listwatch.go:", ""), "listwatch.go:")
	}
}

// A script that watches the originals needs to know whether there is something to read.
func TestDriftHasAnExitCode(t *testing.T) {
	t.Parallel()
	root := tinyTree(t)
	cache := filepath.Join(root, ".cache")
	for name, text := range map[string]string{
		"chapters/01-list-watch/chapter.yaml": "title: List, then watch\npart: 1\nminutes: 5\nneeds: [Go]\nafter: list\nfile: mini/listwatch.go\nupstream: [{module: example.org/a, version: v1.0.0, file: a.go}]\n",
		"chapters/01-list-watch/README.md":    "# 1. List, then watch\n\n`F`\n",
		".cache/example.org/a@v1.0.0/a.go":    "package a\n\nfunc F() {}\n",
		".cache/example.org/a@v1.0.1/a.go":    "package a\n\n// F does nothing.\nfunc F() {}\n",
		".cache/example.org/a@v1.1.0/a.go":    "package a\n\nfunc F() { F() }\n",
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, c := range []struct {
		version string
		code    int
		want    string
	}{
		{"v1.0.1", 0, "Nothing that the chapters mention has drifted."},
		{"v1.1.0", 1, "  changed  F (mentioned in README.md:3)\n      --- F v1.0.0\n"},
	} {
		cmd := command(root, "drift", "--diff", "example.org/a@"+c.version)
		cmd.Env = append(cmd.Env, "GOMODCACHE="+cache)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		_ = cmd.Run()
		assert.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s%s", out.String(), errOut.String())
		assert.Contains(t, out.String(), c.want)
		assert.NotContains(t, errOut.String(), "course: ", "all is said")
	}
}
