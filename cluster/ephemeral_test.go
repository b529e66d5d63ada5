package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startAndWait is a process of tests, which is killed: it has a cluster of its own, and calls a command that brings
// up another one.
func startAndWait(arguments []string) int {
	up, err := Up(context.Background(), Options{Ephemeral: true, Parts: []Part{Etcd, APIServer}})
	if err == nil {
		var reading *os.File
		if reading, err = tieLifeline(place{}); err == nil {
			command := exec.Command(arguments[0], "up")
			command.Env = append(os.Environ(), "LOOPWRIGHT_DIR="+arguments[1], lifelineVariable+"=3")
			command.ExtraFiles = []*os.File{reading}
			err = command.Run()
		}
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println(up.embedded.at.dir)
	select {}
}

// helper starts this test binary in a role, with a temporary directory of its own, and returns the first line that
// it prints.
func helper(t testing.TB, role, temporary string, arguments ...string) (command *exec.Cmd, said string) {
	t.Helper()
	command = exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), roleVariable+"="+role, "TMPDIR="+temporary)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err, line)
	return command, strings.TrimSpace(line)
}

// newTemporary is a temporary directory below testRoot, so that what is left there can be found.
func newTemporary(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(testRoot, strings.ReplaceAll(t.Name(), "/", "-"))
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func TestWhatTestsStartEndsWithThemHoweverTheyEnd(t *testing.T) {
	needsCluster(t)
	path, err := buildCommand()
	require.NoError(t, err)
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			temporary := newTemporary(t)
			commands := filepath.Join(temporary, "command")
			tests, own := helper(t, "starter", temporary, path, commands)
			require.Equal(t, temporary, filepath.Dir(own))
			require.Len(t, pids(t, own), 2)
			require.Len(t, pids(t, commands), len(Parts))
			require.NoError(t, tests.Process.Signal(signal))
			_ = tests.Wait()
			eventually(t, "all parts end by themselves, with their data", func() error {
				if left := processesOf(temporary); len(left) > 0 {
					return fmt.Errorf("%v are left", left)
				}
				for _, data := range []string{own, (place{dir: commands}).cluster()} {
					if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
						return fmt.Errorf("%s: %w", data, err)
					}
				}
				return nil
			})
		})
	}
}

// ownAndWait has a scratch directory.
func ownAndWait() int {
	own, err := newScratch()
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println(own.dir)
	select {}
}

func TestADirectoryWhoseProcessWasKilledIsRemovedByTheNextRunAndNoOther(t *testing.T) {
	temporary := newTemporary(t)
	killed, dir := helper(t, "owner", temporary)
	_, dirOfAnother := helper(t, "owner", temporary)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	require.DirExists(t, dir)

	t.Setenv("TMPDIR", temporary)
	own, err := newScratch()
	require.NoError(t, err)
	assert.NoDirExists(t, dir)
	assert.NoFileExists(t, dir+".lock")
	assert.DirExists(t, dirOfAnother, "its process lives")
	assert.DirExists(t, own.dir)

	require.NoError(t, own.remove())
	left, err := filepath.Glob(filepath.Join(temporary, "*"))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{dirOfAnother, dirOfAnother + ".lock"}, left)
}

// haveAChild starts a process that ends with this one, and hands it the standard output.
func haveAChild() int {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"=child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Run(); err != nil {
		fmt.Println("failed:", err)
	}
	return 1
}

func waitForTheParent() int {
	EndWithParent()
	fmt.Println("waiting")
	select {}
}

func TestTestsEndWhenTheGoCommandThatRunsThemIsKilled(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), roleVariable+"=parent")
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	read := bufio.NewReader(output)
	said, err := read.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "waiting\n", said)
	require.NoError(t, parent.Process.Kill())
	_, err = read.ReadString('\n')
	require.ErrorIs(t, err, io.EOF, "the child goes on")
	_ = parent.Wait()
}

func TestAnEphemeralClusterOutlivesTheGarbageCollector(t *testing.T) {
	at := place{dir: t.Name()}
	func() { // so that nothing here holds on to the pipe
		_, err := tieLifeline(at)
		require.NoError(t, err)
	}()
	defer cutLifeline(at)
	runtime.GC()
	runtime.GC() // a file is closed in the round after the one that finds it
	reading, err := tieLifeline(at)
	require.NoError(t, err)
	require.NoError(t, reading.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = reading.Read(make([]byte, 1))
	assert.True(t, errors.Is(err, os.ErrDeadlineExceeded), "the parts would have read the end of their lifeline: %v", err)
}
