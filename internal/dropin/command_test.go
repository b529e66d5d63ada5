package dropin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a program leaves in its temporary directory, such as the data of an API server, would fill the
// disk of somebody who tries twenty operators.
func TestNothingThatAProgramLeavesInItsTemporaryDirectoryStays(t *testing.T) {
	a, err := newAside(&Program{Dir: t.TempDir()})
	require.NoError(t, err)
	var out bytes.Buffer
	command := a.command("sh", "-c", `mkdir "$TMPDIR/data" && echo "$TMPDIR/data"`)
	command.Stdout = &out
	require.NoError(t, run(t.Context(), command))
	left := strings.TrimSpace(out.String())
	require.DirExists(t, left)
	require.NoError(t, a.remove())
	assert.NoDirExists(t, left)
}

// A test program that leaves an API server behind ends, but the server holds its output open. The test's
// results are there, and the server is ended.
func TestAProgramWhoseOutputStaysOpenHasEnded(t *testing.T) {
	t.Parallel() // it takes all of patience
	a, err := newAside(&Program{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.remove()) }()
	program := filepath.Join(a.dir, "package.test")
	text := "#!/bin/sh\nprintf '=== RUN   TestIt\\n--- PASS: TestIt (0.00s)\\nPASS\\n'\nsleep 600 &\n"
	require.NoError(t, os.WriteFile(program, []byte(text), 0o700))
	s, done := &side{aside: a, options: TryOptions{Timeout: time.Minute}}, &Outcome{}
	require.NoError(t, s.run(t.Context(), listed{Dir: a.program.Dir}, program, done))
	assert.True(t, done.Failed, "as with go test")
	assert.Equal(t, "ok 1", (&Outcome{Log: done.Log}).cell())
}

// A line about each module that was downloaded hides the one that says what's wrong. But the go command
// begins that one with "go: ", too.
func TestARefusalSaysWhatIsWrongAndNotWhatWasDownloaded(t *testing.T) {
	assert.Equal(t, "go: example.com/lost@v1.0.0: not found\nlost.go:3:8: no package",
		withoutDownloads("go: downloading example.com/a v1.0.0\ngo: example.com/lost@v1.0.0: not found\n"+
			"go: downloading example.com/b v1.0.0\nlost.go:3:8: no package\n"))
}

// On Linux, a program begins with its parent's memory. Whoever compares two small programs must see that
// they were too small for that.
func TestThePeakOfASmallProgramIsAFloor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there a program begins with its parent's memory")
	}
	ballast := bytes.Repeat([]byte{1}, 64<<20)
	command := exec.Command("true")
	require.NoError(t, command.Run())
	_, floor := peak(command.ProcessState)
	assert.True(t, floor)
	assert.Len(t, ballast, 64<<20)

	assert.Equal(t, "< 65 MB", megabytes(&Outcome{Log: &testLog{}, Peak: 64_000_000, Floor: true}))
	assert.Equal(t, "64 MB", megabytes(&Outcome{Log: &testLog{}, Peak: 64_000_000}))
}
