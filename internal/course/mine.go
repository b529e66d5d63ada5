package course

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// run runs a chapter's program. It returns the program's exit code, and the end of
// what it wrote to its standard error if it ended by itself.
//
// The program has the caller's input and output. Its errors pass through this
// process, which reads along. It is in the same process group, so that Ctrl-C
// reaches it without us.
func (r *Repo) run(binary string) (exitCode int, said string, err error) {
	cmd := exec.Command(binary)
	cmd.Dir = r.Root
	crash := &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, io.MultiWriter(os.Stderr, crash)
	signals := make(chan os.Signal, 1) // from the runtime; what does not fit is a repetition
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, "", fmt.Errorf("starting %s: %w", binary, err)
	}
	ended := make(chan error, 1) // from the goroutine, once
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM { // it comes to this process alone
				_ = cmd.Process.Signal(s) // it may have ended in the meantime
			}
			continue
		case err = <-ended:
		}
		break
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, "", fmt.Errorf("running %s: %w", binary, err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), "", nil
	}
	return cmd.ProcessState.ExitCode(), crash.String(), nil
}

// tail keeps the end of what is written to it: more than a crash of one
// goroutine takes.
type tail struct{ text []byte }

const tailSize = 1 << 20

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = slices.Clone(t.text[len(t.text)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }

// explainCrash says in plain words what a crash of a demo means for the learner's
// files; it is empty if there was no crash.
func (r *Repo) explainCrash(chapter int, output string) (string, error) {
	exercises, _, err := r.Exercises()
	if err != nil {
		return "", err
	}
	owner := map[string]Exercise{}
	var files []string
	for _, e := range exercises {
		if e.Number > chapter || !r.has(e.Mine()) {
			continue
		}
		extra, err := r.extraFiles(myDir, e)
		if err != nil {
			return "", err
		}
		for _, file := range append(sortedValues(extra), e.Mine()) {
			owner[file] = e
			files = append(files, file)
		}
	}
	f, crashed := gotest.Crash(output, files)
	if !crashed {
		return "", nil
	}
	if f.Line == 0 {
		return "\n" + wrap("The demo crashed, but none of your files is in the stack trace above. Your files may be the cause all the same: `make progress` tests all of them, and without MINE=1 the demo runs on the reference.", 80) + "\n", nil
	}
	e := owner[f.In]
	text := fmt.Sprintf("In the demo, %s Change %s in %s. Read %s. `make exercise-%s` tests it.",
		gotest.EndSentence(f.PlainCrash()), functionOf(f, e), f.In, e.Reads(), e.ID())
	return "\n" + wrap(text, 80) + "\n", nil
}

// functionOf names the function that crashed if it is one of the exercise's, or else all of these.
func functionOf(f gotest.Failure, e Exercise) string {
	if slices.Contains(e.Function, f.Function) {
		return f.Function
	}
	return list(e.Function, "or")
}
