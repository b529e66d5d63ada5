package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain is the command itself, if a test runs this binary as one.
func TestMain(m *testing.M) {
	if os.Getenv("SELF") != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is `slowest` with these arguments, in a repository whose notes are in .state.
func command(t *testing.T, repository string, arguments ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(repository, ".state"), 0o777))
	made := exec.CommandContext(t.Context(), self, arguments...)
	made.Env = append(os.Environ(), logVariable+"="+filepath.Join(repository, ".state", "notes"), withinVariable+"=", "SELF="+self)
	made.Dir = repository
	return made
}

func TestACommandsOwnPartIsWhatTheOthersLeave(t *testing.T) {
	repository := t.TempDir()
	log := filepath.Join(repository, "notes")
	for _, p := range []part{
		{Name: "a/b", Within: "linking", Took: 9e9, Processor: 7e9}, {Name: "a/c", Within: "linking", Took: 2e9, Processor: 1e9},
		{Name: "linking", Took: 12e9, Processor: 10e9}, {Name: "exercises", Took: 30e9, Processor: 20e9},
	} {
		require.NoError(t, note(log, p))
	}
	var text strings.Builder
	require.NoError(t, report(log, &text))
	for range 20 {
		require.NoError(t, note(log, part{Name: "a/b", Took: 1e9, Processor: 1e9}))
	}
	var long strings.Builder
	require.NoError(t, report(log, &long))
	assert.Equal(t, 10, strings.Count(long.String(), "a/b"))
	assert.Equal(t, []string{
		"processor took", "20 s 30 s exercises", "7 s 9 s a/b", "2 s 12 s linking", "1 s 2 s a/c", "30 s in all, 4 parts",
	}, lines(text.String()))
	assert.NoFileExists(t, log, "the next run would count these, too")
}

// lines are those of a text, with one space where there are more.
func lines(text string) (result []string) {
	for line := range strings.Lines(text) {
		result = append(result, strings.Join(strings.Fields(line), " "))
	}
	return result
}

func TestACommandRunsAsItWouldByItself(t *testing.T) {
	repository := t.TempDir()
	deep := filepath.Join(repository, "deep", "down")
	require.NoError(t, os.MkdirAll(deep, 0o777))
	inner := command(t, repository, "run", "-name", "outer", "sh", "-c",
		`cat && echo "$GREETING" && cd deep/down && "$SELF" run sh -c 'echo wrong >&2; exit 3'`)
	inner.Stdin = strings.NewReader("asked\n")
	inner.Env = append(inner.Env, "GREETING=hello")
	said, err := inner.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 3, exit.ExitCode())
	assert.Equal(t, "asked\nhello\nwrong\n", string(said))
	notes, err := os.ReadFile(filepath.Join(repository, ".state", "notes"))
	require.NoError(t, err)
	assert.Contains(t, string(notes), `{"name":"deep/down","within":"outer",`)
	assert.Contains(t, string(notes), `{"name":"outer","took":`)
}

func TestTheReportEndsWithWhatFailed(t *testing.T) {
	repository := t.TempDir()
	said, err := command(t, repository, "run", "-name", "outer", "sh", "-c", `
"$SELF" run -name fine sh -c 'echo "--- FAIL: TestThatIsTriedAgain"'
"$SELF" run -name racy sh -c 'for i in $(seq 50); do echo "before $i"; done; echo "WARNING: DATA RACE" >&2; for i in $(seq 50); do echo "after $i" >&2; done; exit 66'
"$SELF" run -name wrong sh -c 'echo noise >&2; echo "=== RUN"; printf -- "--- FAIL: TestIt (0.01s)\n    it_test.go:7: 3, not 4\nFAIL\n"; exit 1'`).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(said), "noise\n", "all of it is printed, too")
	report, err := command(t, repository, "report").CombinedOutput()
	require.NoError(t, err)
	_, failed, _ := strings.Cut(string(report), "parts\n")
	racy, wrong, found := strings.Cut(failed, "\nFailed, with exit code 1: wrong\n")
	require.True(t, found, "%s", report)
	assert.Equal(t, "--- FAIL: TestIt (0.01s)\n    it_test.go:7: 3, not 4\nFAIL\n", wrong)
	assert.Contains(t, racy, "Failed, with exit code 66: racy\nWARNING: DATA RACE\nafter 1\n")
	assert.Contains(t, racy, "\nafter 24\n")
	assert.NotContains(t, racy, "after 25")
	assert.NotContains(t, failed, "fine", "a command that went well has nothing to say")
	assert.NotContains(t, failed, "outer", "it failed since what it ran did")
}

// What a command has left behind keeps its output, and the command has ended all the same.
func TestACommandEndsThoughWhatItStartedGoesOn(t *testing.T) {
	repository := t.TempDir()
	said, err := command(t, repository, "run", "-name", "outer", "sh", "-c", "sleep 60 & echo $!").CombinedOutput()
	require.NoError(t, err, "%s", said)
	pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "it still runs")
	assert.FileExists(t, filepath.Join(repository, ".state", "notes"))
}

// A terminal sends SIGINT to the command, too, so it isn't passed on.
func TestSIGTERMIsPassedOnAndSIGINTIsNot(t *testing.T) {
	repository := t.TempDir()
	outer := command(t, repository, "run", "-name", "asleep", "sh", "-c",
		`trap 'exit 7' TERM; trap 'exit 8' INT; echo ready; for i in $(seq 600); do sleep 0.1; done; exit 9`)
	said, err := outer.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, outer.Start())
	_, err = said.Read(make([]byte, len("ready\n")))
	require.NoError(t, err)
	require.NoError(t, outer.Process.Signal(syscall.SIGINT))
	require.NoError(t, outer.Process.Signal(syscall.SIGTERM))
	require.Error(t, outer.Wait())
	assert.Equal(t, 7, outer.ProcessState.ExitCode())
}

func TestACommandThatIsKilledHasTheExitCodeThatAShellGivesIt(t *testing.T) {
	killed := command(t, t.TempDir(), "run", "-name", "killed", "sh", "-c", "kill -9 $$")
	require.Error(t, killed.Run())
	assert.Equal(t, 128+9, killed.ProcessState.ExitCode())
}

// `go test` that's killed leaves behind what it runs.
func TestACommandEndsWithTheProcessThatStartedSlowest(t *testing.T) {
	repository := t.TempDir()
	outer := command(t, repository, "run", "-name", "outer", "sh", "-c",
		`"$SELF" run -name inner sh -c "trap 'echo told; told=1' TERM; echo ready; for i in \$(seq 600); do sleep 0.1; test -z \"\$told\" || { sleep 3; exit; }; done" & wait`)
	said, err := outer.StdoutPipe()
	require.NoError(t, err)
	outer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, outer.Start())
	_, err = said.Read(make([]byte, len("ready\n")))
	require.NoError(t, err)
	require.NoError(t, outer.Process.Signal(syscall.SIGTERM)) // the shell between them ends, and waits for nobody
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	require.Equal(t, "told\n", string(rest), "it is told, and once: a second signal would end it at once")
	_ = outer.Wait() // with the signal
	notes, err := os.ReadFile(filepath.Join(repository, ".state", "notes"))
	require.NoError(t, err)
	assert.Contains(t, string(notes), `{"name":"inner","within":"outer",`)
}

func TestAWrongCommandLineIsAnErrorThatSaysHow(t *testing.T) {
	for _, arguments := range [][]string{{}, {"run"}, {"run", "-name", "x"}, {"walk", "x"}, {"report"}} {
		said, err := command(t, t.TempDir(), arguments...).CombinedOutput()
		assert.Error(t, err, "%q", arguments)
		assert.Contains(t, string(said), "slowest: ", "%q", arguments)
	}
}
