package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// goCommand runs the go command and returns its output.
func goCommand(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out, nil
}

// compile makes a test binary of a package, with text in place of some of its files.
func compile(ctx context.Context, root, dir string, text map[string]string, work, name string) (binary string, err error) {
	overlay := map[string]string{}
	for i, file := range sorted(text) {
		instead := filepath.Join(work, fmt.Sprintf("%s-%d.go", name, i))
		if err := os.WriteFile(instead, []byte(text[file]), 0o600); err != nil {
			return "", fmt.Errorf("writing the mutants: %w", err)
		}
		overlay[filepath.Join(root, filepath.FromSlash(file))] = instead
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	file := filepath.Join(work, name+".json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	binary = filepath.Join(work, name+".test")
	_, err = goCommand(ctx, root, "test", "-c", "-vet=off", "-overlay="+file, "-o", binary, "./"+dir)
	return binary, err
}

// verdict is how the tests ended with a mutant.
type verdict uint8

const (
	survived  verdict = iota // all tests passed
	killed                   // one failed or crashed
	hung                     // they did not end in time: nobody would merge that either
	uncovered                // no test that judges it reaches it
	starved                  // they did not end in time, and had little of it: to be tried again
)

func (v verdict) String() string {
	return [...]string{"survived", "killed", "hung", "uncovered", "starved"}[v]
}

// maxMemory is more than the tests of any package need, and less than a machine has on
// which a mutant allocates without end.
const maxMemory = 4 << 20 // KiB

// test runs some tests of a test binary, which ends when one of them has taken longer than its limit.
// A limit for all of them together would let the first one hang for as long as all the others need.
func test(ctx context.Context, binary, dir string, env, tests []string, limit func(test string) time.Duration) (v verdict, output string, took cost, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLong := time.AfterFunc(limit(tests[0]), func() { cancel(errTooLong) })
	defer tooLong.Stop()
	// Where the shell cannot limit the memory, the tests run without.
	args := []string{"-c", fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, maxMemory),
		binary, "-test.v", "-test.short", "-test.failfast", "-test.count=1", "-test.timeout=0", "-test.run=^(" + strings.Join(tests, "|") + ")$"}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out := tail{started: func(test string) { tooLong.Reset(limit(test)) }}
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err = cmd.Run()
	if s := cmd.ProcessState; s != nil {
		took = cost{time.Since(start), s.UserTime() + s.SystemTime()}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, out.String(), took, nil
	case errors.Is(context.Cause(ctx), errTooLong):
		return hung, out.String(), took, nil
	case ctx.Err() != nil:
		return 0, "", took, context.Cause(ctx)
	case errors.As(err, &exit):
		return killed, out.String(), took, nil
	}
	return 0, "", took, fmt.Errorf("running the tests: %w", err)
}

var errTooLong = errors.New("the tests take too long")

// tail keeps the last lines of what a test binary prints.
type tail struct {
	kept    []byte
	line    []byte            // the last one, as far as it has come
	started func(test string) // called when a test starts
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 1<<14; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	for line := range bytes.Lines(p) {
		t.line = append(t.line, line...)
		if !bytes.HasSuffix(line, []byte("\n")) && len(t.line) < 1<<12 {
			break
		}
		// A test that prints part of a line leaves it in front of the next one's name.
		if _, name, ok := bytes.Cut(t.line, []byte("=== RUN   ")); ok && !bytes.Contains(name, []byte("/")) {
			t.started(string(bytes.TrimSpace(name)))
		}
		t.line = t.line[:0]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
