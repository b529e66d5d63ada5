package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests use clusters of three kinds: one that all tests of this process
// share, one that the tests of the command share, and some for one test alone.
// All of them live below testRoot, so that whatever a test leaves behind can be
// found by that name and is an error. All of them end with this process.

// patience bounds what must not hang. It is far above what anything takes.
const patience = 6 * time.Minute // a start gives up after five, and says what it waited for

// roleVariable makes this test binary play a part other than running tests.
const roleVariable = "LOOPWRIGHT_CLUSTER_TEST_ROLE"

var (
	testRoot     string
	testLifeline *os.File // the reading end; the commands' clusters follow it
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "starter":
		os.Exit(startAndWait(os.Args[1:]))
	case "owner":
		os.Exit(ownAndWait())
	case "parent":
		os.Exit(haveAChild(os.Args[1:]))
	case "child":
		os.Exit(outliveTheParent(os.Args[1:]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	EndWithParent()
	own, err := newScratch()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	testRoot = own.dir
	reading, err := tieLifeline(place{dir: testRoot})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	testLifeline = reading
	code := m.Run()
	if err := errors.Join(takeDown(testRoot), own.remove()); err != nil {
		fmt.Fprintln(os.Stderr, "cleaning up after the tests:", err)
		code = max(code, 1)
	}
	return code
}

// takeDown takes down every cluster below root, and fails if a process outlives that.
func takeDown(root string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	entries, err := os.ReadDir(root)
	for _, dir := range entries {
		if dir.IsDir() {
			err = errors.Join(err, Down(ctx, Options{Dir: filepath.Join(root, dir.Name())}))
		}
	}
	for left := processesOf(root); len(left) > 0; left = processesOf(root) {
		if pause(ctx, pollInterval) != nil {
			return errors.Join(err, fmt.Errorf("processes are left: %s", strings.Join(left, "; ")))
		}
	}
	return err
}

// processesOf lists the processes of a cluster: those that have its directory in
// their command line.
func processesOf(dir string) []string {
	list, err := exec.Command("ps", "-A", "-o", "pid=,command=").Output()
	if err != nil {
		return []string{"ps: " + err.Error()}
	}
	var found []string
	for line := range strings.Lines(string(list)) {
		pid, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(command, dir+"/") && pid != strconv.Itoa(os.Getpid()) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// newDir is the directory of a cluster for one test, which takes it down.
func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(testRoot, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()))
	t.Cleanup(func() {
		if err := Down(context.Background(), Options{Dir: dir}); err != nil {
			t.Errorf("taking the cluster down: %v", err)
		}
		if left := processesOf(dir); len(left) > 0 {
			t.Errorf("processes are left: %s", strings.Join(left, "\n"))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the cluster's directory: %v", err)
		}
	})
	return dir
}

func needsCluster(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
}

var sharedCluster = sync.OnceValues(func() (*Cluster, error) {
	return Up(context.Background(), Options{Dir: filepath.Join(testRoot, "shared"), Ephemeral: true})
})

// shared is a cluster for tests that leave it as it was, apart from objects.
func shared(t testing.TB) *Cluster {
	t.Helper()
	needsCluster(t)
	up, err := sharedCluster()
	if err != nil {
		t.Fatalf("no cluster to test on: %v", err)
	}
	return up
}

// sharedDir is where the tests of the command have theirs. It may be up or down,
// damaged or whole: every test starts by saying what it needs.
func sharedDir(t testing.TB) string {
	t.Helper()
	needsCluster(t)
	return filepath.Join(testRoot, "command")
}

var buildCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(testRoot, "cluster.test-command")
	output, err := exec.Command("go", "build", "-o", path, "./cmd/cluster").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the command: %w: %s", err, output)
	}
	return path, nil
})

// call is one run of the command, in a process of its own.
type call struct {
	dir   string
	env   []string // beside the tests' own
	shell string   // said to a shell before the command runs, like "umask 0"
	stdin string
}

// options that a developer may have set for make must not reach the tests.
var optionVariables = []string{"CLUSTER", "NODES", "PORT", "ORIGINALS", "KIND_NAME", "KIND_IMAGE", "YES", "LOOPWRIGHT_DIR", "KUBECONFIG"}

func (c call) command(t testing.TB, verb string) *exec.Cmd {
	t.Helper()
	path, err := buildCommand()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, path, verb)
	if c.shell != "" {
		command = exec.CommandContext(ctx, "/bin/bash", "-c", c.shell+"; exec \"$0\" \"$@\"", path, verb)
	}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGQUIT) } // it prints where it hangs
	command.WaitDelay = time.Second
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if !slices.Contains(optionVariables, name) {
			command.Env = append(command.Env, setting)
		}
	}
	command.Env = append(append(command.Env, "LOOPWRIGHT_DIR="+c.dir, lifelineVariable+"=3"), c.env...)
	command.ExtraFiles = []*os.File{testLifeline} // the first of them is file 3
	command.Stdin = strings.NewReader(c.stdin)
	return command
}

// run runs the command to its end and returns all that it printed. That it comes
// to an end also shows that no part holds on to its output.
func (c call) run(t testing.TB, verb string) (printed string, err error) {
	t.Helper()
	command := c.command(t, verb)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	return output.String(), err
}

// must is run for what is not to fail.
func (c call) must(t testing.TB, verb string) (printed string) {
	t.Helper()
	printed, err := c.run(t, verb)
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", verb, err, printed)
	}
	return printed
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() error) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pollInterval) {
		if last = holds(); last == nil {
			return
		}
	}
	t.Fatalf("%s: not after %s: %v", what, patience, last)
}
