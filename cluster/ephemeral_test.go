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
	"strconv"
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
// it prints, and the rest. It is killed when the test ends, or runs out of patience.
func helper(t testing.TB, role, temporary string, arguments ...string) (command *exec.Cmd, said string, rest io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	command = exec.CommandContext(ctx, os.Args[0], arguments...)
	command.Env = append(os.Environ(), roleVariable+"="+role, "TMPDIR="+temporary)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { cancel(); _ = command.Wait() })
	reader := bufio.NewReader(output)
	line, err := reader.ReadString('\n')
	require.NoError(t, err, line)
	return command, strings.TrimSpace(line), reader
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
			tests, own, _ := helper(t, "starter", temporary, path, commands)
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
	killed, dir, _ := helper(t, "owner", temporary)
	_, dirOfAnother, _ := helper(t, "owner", temporary)
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

func TestTakingAnEphemeralClusterDownTwiceIsNoError(t *testing.T) {
	t.Setenv("TMPDIR", newTemporary(t))
	own, err := newScratch()
	require.NoError(t, err)
	up := &Cluster{Mode: Embedded, embedded: &embedded{options: Options{Dir: own.dir, Out: io.Discard}}, scratch: own}
	require.NoError(t, up.Down(t.Context()))
	require.NoDirExists(t, own.dir)
	require.NoFileExists(t, own.dir+".lock")
	assert.NoError(t, up.Down(t.Context()))
}

// A test suite that tries again and again would run out of open files.
func TestAnUpThatFailsKeepsNeitherItsProcessesNorTheirLifeline(t *testing.T) {
	needsCluster(t)
	dir := newTemporary(t)
	started := false
	_, err := Up(t.Context(), Options{
		Dir: dir, Ephemeral: true, Parts: []Part{Etcd, APIServer},
		Arguments: func(part Part, defaults []string) ([]string, error) {
			if part == Etcd {
				return defaults, nil
			}
			started = len(processesOf(dir)) > 0
			return nil, errors.New("not these flags")
		},
	})
	require.ErrorContains(t, err, "not these flags")
	require.True(t, started, "etcd never ran, so this test shows nothing")
	assert.Empty(t, processesOf(dir))
	lifelines.Lock()
	defer lifelines.Unlock()
	assert.NotContains(t, lifelines.byDir, dir)
}

func TestADirectoryToRemoveIsRefusedWithoutOneForTheCluster(t *testing.T) {
	mine := t.TempDir()
	_, err := Up(t.Context(), Options{Ephemeral: true, RemoveDir: mine, Parts: []Part{Kwok}}) // which never gets up
	assert.EqualError(t, err, "an ephemeral cluster with RemoveDir="+mine+" and no Dir: want both or neither")
}

// haveAChild starts a process that calls EndWithParent, and hands it its arguments and the standard output.
func haveAChild(arguments []string) int {
	child := exec.Command(os.Args[0], arguments...)
	child.Env = append(os.Environ(), roleVariable+"=child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Run(); err != nil {
		fmt.Println("failed:", err)
	}
	return 1
}

// outliveTheParent says so if it is still there when the parent has been gone for the time that the
// last argument gives. It ends then, because no other process would end it.
func outliveTheParent(arguments []string) int {
	parent := os.Getppid()
	EndWithParent()
	long, err := time.ParseDuration(arguments[len(arguments)-1])
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("waiting")
	for os.Getppid() == parent {
		time.Sleep(pollInterval)
	}
	time.Sleep(long)
	fmt.Println("goes on")
	return 0
}

func TestTestsEndWhenTheGoCommandThatRunsThemIsKilled(t *testing.T) {
	assert.Empty(t, saidAfterTheParent(t, "-test.paniconexit0", patience.String()), "the child goes on")
}

func TestTestsThatAUserRunsInTheBackgroundOutliveTheShell(t *testing.T) {
	assert.Equal(t, "goes on\n", saidAfterTheParent(t, "-test.v", (2*parentGlance).String()))
}

// saidAfterTheParent runs tests with these arguments, kills their parent, and returns what they print then.
func saidAfterTheParent(t *testing.T, arguments ...string) string {
	t.Helper()
	parent, said, rest := helper(t, "parent", t.TempDir(), arguments...)
	require.Equal(t, "waiting", said)
	require.NoError(t, parent.Process.Kill())
	after, err := io.ReadAll(rest)
	require.NoError(t, err)
	return string(after)
}

// passLifeline gives this process a file for its lifeline, as the process that starts it would.
func passLifeline(t *testing.T, file *os.File) (descriptor int) {
	t.Helper()
	descriptor, err := syscall.Dup(int(file.Fd()))
	require.NoError(t, err)
	t.Setenv(lifelineVariable, strconv.Itoa(descriptor))
	return descriptor
}

func TestALifelineIsNotPassedOnToACommandThatDoesNotInheritIt(t *testing.T) {
	reading, writing, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = reading.Close(), writing.Close() }()
	descriptor := passLifeline(t, reading)
	taken, err := lifelineOf(place{}, Options{})
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	assert.EqualValues(t, descriptor, taken.Fd())
	_, found := os.LookupEnv(lifelineVariable)
	assert.False(t, found, "a cluster that the command brings up follows whatever has this number there")
}

func TestAFileIsNotTakenForALifeline(t *testing.T) {
	file, err := os.Open(os.DevNull) // at its end at once, as a lifeline that was cut
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	descriptor := passLifeline(t, file)
	_, err = lifelineOf(place{}, Options{})
	require.EqualError(t, err, fmt.Sprintf("LOOPWRIGHT_LIFELINE_FD=%d: want the number of an open pipe", descriptor))
	assert.NoError(t, syscall.Close(descriptor), "somebody else's file was closed")

	t.Setenv(lifelineVariable, strconv.Itoa(1<<30))
	_, err = lifelineOf(place{}, Options{})
	assert.Error(t, err, "no file has this number")
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
