package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
		{"a/b", "linking", 9e9, 7e9}, {"a/c", "linking", 2e9, 1e9}, {"linking", "", 12e9, 10e9}, {"exercises", "", 30e9, 20e9},
	} {
		require.NoError(t, note(log, p))
	}
	var text strings.Builder
	require.NoError(t, report(log, &text))
	for range 20 {
		require.NoError(t, note(log, part{"a/b", "", 1e9, 1e9}))
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
