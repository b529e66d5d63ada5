package course

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// run runs a chapter's program, and explains a crash in the learner's files after
// it, as a failed test is explained. It returns the program's exit code.
//
// The program has the caller's input and output. Its errors pass through this
// process, which reads along. It is in the same process group, so that Ctrl-C
// reaches it without us.
func (r *Repo) run(binary string, chapter int) (exitCode int, err error) {
	cmd := exec.Command(binary)
	cmd.Dir = r.Root
	crash := &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, io.MultiWriter(os.Stderr, crash)
	signals := make(chan os.Signal, 1) // from the runtime; what does not fit is a repetition
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting %s: %w", binary, err)
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
		return 0, fmt.Errorf("running %s: %w", binary, err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	code := cmd.ProcessState.ExitCode()
	if code != 0 {
		text, err := r.explainCrash(chapter, crash.String())
		if err != nil {
			return code, err
		}
		fmt.Fprint(os.Stderr, text)
	}
	return code, nil
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
	var f Failure
	f.In, f.Line = placeIn(output, files)
	if !f.readCrash(output, files) {
		return "", nil
	}
	if f.Line == 0 {
		return "\n" + wrap("The demo crashed, but none of your files is in the stack trace above. It may still be about what yours do: `make progress` tests all of them, and without MINE=1 the demo runs on the reference.", 80) + "\n", nil
	}
	e := owner[f.In]
	text := fmt.Sprintf("In the demo, %s Change %s in %s. Read %s. `make exercise-%s` tests it.",
		endSentence(f.plainCrash(fmt.Sprintf(" (%s:%d)", f.In, f.Line))), functionIn(output, f, e), f.In, e.Reads(), e.ID())
	return "\n" + wrap(text, 80) + "\n", nil
}

// called takes the function out of a line of a stack trace, such as
// "example.com/x/workqueue.(*dedup[...]).add(0x1)".
var called = regexp.MustCompile(`\.(?:\(?\*?(\w+)(?:\[[^\]]*\])?\)?\.)?(\w+)(?:\[[^\]]*\])?\([^()]*\)$`)

// functionIn names the function that crashed as the exercise does, or else all
// that the exercise asks for.
func functionIn(output string, f Failure, e Exercise) string {
	before, _, _ := strings.Cut(output, fmt.Sprintf("/%s:%d", f.In, f.Line))
	lines := strings.Split(strings.TrimRight(before, "\n"), "\n")
	if len(lines) > 1 {
		if m := called.FindStringSubmatch(lines[len(lines)-2]); m != nil {
			for _, name := range e.Function {
				if name == m[1]+"."+m[2] || name == m[2] {
					return name
				}
			}
		}
	}
	return list(e.Function, "or")
}
