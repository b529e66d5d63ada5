package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// report is what testdata/run.mjs prints.
type report struct {
	LoadMs, FirstEventMs, RolloutMs float64
	Pods                            [][3]string
	Printed                         string
	Deadline                        struct{ Passed, TookMs float64 }
	Paused                          struct {
		Names   int
		Time    float64
		Stepped bool
	}
	Words     []string
	Nonsense  string
	Cancelled bool
	Programs  map[string]struct {
		Text, Error string
		Ms          float64
	}
	Events   int
	MemoryMB float64
}

// What a reader of the page gets is this file, and no test of the packages says that it works there.
func TestTheProgramWorksInAPage(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for WebAssembly, which -short leaves out")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs Node.js, as the book does")
	}
	dir := os.Getenv("PLAYGROUND") // where one was built, for those who work on the test
	if dir == "" {
		dir = t.TempDir()
		require.NoError(t, build(dir), "it compiles, and is small enough")
	}
	for _, name := range []string{"index.html", "page.css", "playground.js", "playground.css", "playground.wasm.gz", "playground.wasm.js"} {
		require.FileExists(t, filepath.Join(dir, name), "the page needs it")
	}
	size, err := os.ReadFile(filepath.Join(dir, "size.txt"))
	require.NoError(t, err)
	program, err := os.Stat(filepath.Join(dir, "playground.wasm.gz"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%.1f MB", float64(program.Size())/1e6), string(size))
	script, err := os.ReadFile(filepath.Join(dir, "playground.js"))
	require.NoError(t, err)
	require.Regexp(t, "Loading[^;]{1,20}"+string(size), string(script), "the page says how much it loads")
	overlay := map[string]string{}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	work := t.TempDir()
	names, err := programs(root, work, overlay)
	require.NoError(t, err)
	command := exec.Command(node, append([]string{"testdata/run.mjs", dir}, names...)...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r), "%s", text)
	t.Logf("loaded after %.0f ms, first event after %.0f ms, three Pods after %.0f ms; the deadline of %.0f s passed in %.0f ms; %d events, %.0f MB of memory",
		r.LoadMs, r.FirstEventMs, r.RolloutMs, r.Deadline.Passed/1000, r.Deadline.TookMs, r.Events, r.MemoryMB)

	require.Equal(t, [][3]string{{"node-1", "web:1", "Running"}, {"node-2", "web:1", "Running"}, {"node-3", "web:1", "Running"}}, sorted(r.Pods))
	require.Regexp(t, `^NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    3/3     3            3           \d+s\n$`, r.Printed)
	require.GreaterOrEqual(t, r.Deadline.Passed, 590_000.0, "time passes in the world")
	require.Less(t, r.Deadline.TookMs, r.Deadline.Passed/10, "and nobody waits for it")
	require.Equal(t, 3, r.Paused.Names, "a prompt answers while time stands still")
	require.Zero(t, r.Paused.Time)
	require.True(t, r.Paused.Stepped)
	require.Equal(t, []string{"status"}, r.Words)
	require.Contains(t, r.Nonsense, `unknown command "gte"`)
	require.True(t, r.Cancelled)

	printed := map[string]string{}
	for _, name := range names {
		require.Empty(t, r.Programs[name].Error, name)
		printed[name] = r.Programs[name].Text
	}
	text, err = json.Marshal(printed)
	require.NoError(t, err)
	file := filepath.Join(work, "printed.json")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	compare(t, root, work, overlay, file)
}

// The book's tests in a browser set PRINTED to a file with what programs have printed there.
func TestWhatWasPrintedInAPageIsWhatTheChaptersShow(t *testing.T) {
	file := os.Getenv("PRINTED")
	if file == "" {
		t.Skip("PRINTED names no file: docs/book/browser does that")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	work, overlay := t.TempDir(), map[string]string{}
	_, err = programs(root, work, overlay)
	require.NoError(t, err)
	compare(t, root, work, overlay, file)
}

// compare holds what the chapters' programs have printed in a page, by their names in a file of JSON, and what
// they print in memory to what the chapters show. It needs the programs as packages, and so a go command with
// the overlay.
func compare(t *testing.T, root, work string, overlay map[string]string, file string) {
	t.Helper()
	overlaid, err := writeOverlay(work, overlay)
	require.NoError(t, err)
	command := exec.Command("go", "test", "-count=1", "-vet=off", "-ldflags=-s", "-overlay="+overlaid, "./playground/stories")
	command.Dir, command.Env = root, append(os.Environ(), "PRINTED="+file)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "no tests to run")
}

// A chapter that the page can't run would have a button that does nothing.
func TestEachChapterHasItsTwoPrograms(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	names, err := programs(root, t.TempDir(), map[string]string{})
	require.NoError(t, err)
	chapters, err := filepath.Glob(filepath.Join(root, "chapters", "[0-9]*"))
	require.NoError(t, err)
	for _, chapter := range chapters {
		name := filepath.Base(chapter)
		for _, name := range []string{name, name + "/naive"} {
			if notInMemory[name] == "" {
				require.Contains(t, names, name)
			}
		}
	}
	require.Len(t, names, 2*len(chapters)-len(notInMemory))
}

func sorted(pods [][3]string) [][3]string {
	out := make([][3]string, len(pods))
	for _, p := range pods {
		out[p[0][len(p[0])-1]-'1'] = p
	}
	return out
}

// The page's own decisions, and its clock, need no browser.
func TestThePagePassesItsTests(t *testing.T) {
	if testing.Short() {
		t.Skip("installs what the page needs, which -short leaves out")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("needs Node.js, as the book does")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	web, err := unpackPage(root, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, npm(web, nil, "test"))
}
