package course

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// runner runs the tests of exercises. It remembers results by the content of
// everything that went in, so a result is never stale: whatever changes, the
// tests run again.
type runner struct {
	repo     *Repo
	timeout  time.Duration // for the tests alone, compiling not counted
	goFlavor string        // version and settings of the go command
	raceOK   bool          // the race detector can be used here
	raw      io.Writer     // gets what go test prints; nil for nobody
	byName   bool          // a wrong solution meets only the test that it names
	failFast bool          // no solution meets a test after the first that catches it
}

// testTimeout is generous for tests that never sleep, and still short for
// somebody who wrote a loop that does not end.
const testTimeout = 30 * time.Second

// limit is how long the tests of a solution may take. The reference does end, so it gets what a machine needs that's
// slow and has other work.
func (n *runner) limit(s solution) time.Duration {
	if s.isReference() {
		return 10 * n.timeout
	}
	return n.timeout
}

// compileTimeout bounds everything; a cold build of client-go takes minutes.
const compileTimeout = 15 * time.Minute

func (r *Repo) newRunner(ctx context.Context) (*runner, error) {
	env, err := r.goOutput(ctx, "env", "GOVERSION", "GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT", "CC")
	if err != nil {
		return nil, fmt.Errorf("asking the go command for its settings: %w", err)
	}
	settings := strings.Split(string(env), "\n")
	_, noCC := exec.LookPath(strings.TrimSpace(settings[6]))
	return &runner{repo: r, timeout: testTimeout,
		goFlavor: string(env), raceOK: settings[4] == "1" && noCC == nil}, nil
}

// compiling is what learners are told who wait for a run to begin.
func (n *runner) compiling(e Exercise) string {
	if e.Race && n.raceOK {
		return "Compiling its tests with the race detector. The first time, all that they use\nis compiled once more for it, and that may take minutes.\n\n"
	}
	return "Compiling its tests. That takes longer the first time.\n\n"
}

// run runs an exercise's tests on a solution. The tree is that of the exercise's
// chapter: a learner meets no test of a later one.
func (n *runner) run(ctx context.Context, e Exercise, s solution) (gotest.Failure, error) {
	given, err := n.inputsOf(e)
	if err != nil {
		return gotest.Failure{}, err
	}
	before, err := n.resultFile(given, e, s)
	if err != nil {
		return gotest.Failure{}, err
	}
	overlay, err := n.repo.overlay(e, s.extra)
	if err != nil {
		return gotest.Failure{}, fmt.Errorf("exercise %s: %w", e.ID(), err)
	}
	instead, err := s.overlay(n.repo, e)
	var clause clauseError
	if errors.As(err, &clause) {
		return gotest.Failure{Status: gotest.NoCompile, Detail: clause.Error()}, nil
	}
	if err != nil {
		return gotest.Failure{}, fmt.Errorf("exercise %s: %w", e.ID(), err)
	}
	maps.Copy(overlay, instead)
	added := Overlay{}
	maps.Copy(added, s.extra)
	maps.Copy(added, e.more)
	file, done, err := overlay.write(n.repo, added)
	if err != nil {
		return gotest.Failure{}, fmt.Errorf("exercise %s: %w", e.ID(), err)
	}
	defer done()
	// -count=1: a test that passed by luck must not be believed twice.
	args := []string{"test", "-json", "-short", "-count=1", "-timeout=" + n.limit(s).String(), "-ldflags=-s -w", "-overlay=" + file}
	if n.stopsAtFirst(e, s) {
		args = append(args, "-failfast")
	}
	if e.Race && n.raceOK {
		args = append(args, "-race")
	}
	failure, err := n.goTest(ctx, e, s, slices.Concat(args, []string{"-run=" + s.run(e), miniPackage}))
	if err != nil {
		return gotest.Failure{}, fmt.Errorf("running the tests of exercise %s: %w", e.ID(), err)
	}
	if given, err = n.inputsOf(e); err != nil {
		return gotest.Failure{}, err
	}
	return failure, n.remember(given, e, s, failure, before)
}

// stopsAtFirst reports whether no test is run after the first that fails. While functions are still empty, most
// of these would wait for them until the time is up.
func (n *runner) stopsAtFirst(e Exercise, s solution) bool {
	return n.failFast || s.isStub || len(n.repo.stillEmpty(e, s.file)) > 0
}

// maxOutput is more than any test prints that ends.
const maxOutput = 8 << 20

var errFlood = errors.New("the tests print too much")

// goTest runs go test -json, within bounds of time and output, and judges it.
func (n *runner) goTest(ctx context.Context, e Exercise, s solution, args []string) (gotest.Failure, error) {
	ctx, cancelTimeout := context.WithTimeout(ctx, compileTimeout)
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log, runErr, err := collect(ctx, n.repo.goCommand(ctx, args...), cancel)
	if errors.Is(err, errFlood) {
		return gotest.Failure{Status: gotest.Flooding}, nil
	}
	if err != nil {
		return gotest.Failure{}, err
	}
	if n.raw != nil {
		fmt.Fprintf(n.raw, "%s%s\n", &log.Raw, log.Other)
	}
	log.MarkLogs(n.repo.isLog(s.extra))
	failure := gotest.Judge(log, []string{miniPackage}, s.places(e))
	if failure.Status == gotest.Passed && runErr != nil {
		failure = gotest.Failure{Status: gotest.Broken, Detail: strings.TrimSpace(log.Other + runErr.Error())}
	}
	return failure, nil
}

// isLog returns what tells whether a line of a file of tests logs something. extra are a learner's files.
func (r *Repo) isLog(extra map[string]string) func(pkg, file string, line int) bool {
	source := map[string][]string{}
	return func(pkg, name string, line int) bool {
		file := path.Join(r.packageDir(pkg), name)
		if mine, ok := extra[file]; ok {
			file = mine
		}
		if _, known := source[file]; !known {
			text, _ := r.read(file) // a file that cannot be read has no lines
			source[file] = strings.Split(string(text), "\n")
		}
		return line > 0 && line <= len(source[file]) && strings.Contains(source[file][line-1], ".Log")
	}
}

// collect runs a command that prints what go test -json prints. runErr is that of
// the command, and err is set if it was stopped: because of ctx, or because it
// prints without end.
func collect(ctx context.Context, cmd *exec.Cmd, cancel context.CancelCauseFunc) (log *gotest.Log, runErr, err error) {
	out, errOut := bounded{full: cancel}, bounded{full: cancel}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	runErr = cmd.Run()
	endGroup(cmd) // a test may have started something that goes on
	if ctx.Err() != nil {
		return nil, runErr, context.Cause(ctx)
	}
	log = gotest.ReadLog(&out.text)
	log.Other += errOut.text.String()
	return log, runErr, nil
}

// bounded keeps what is written to it, and stops the writer when it is full.
type bounded struct {
	text bytes.Buffer
	full context.CancelCauseFunc
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len() > maxOutput {
		b.full(errFlood)
		return len(p), nil
	}
	return b.text.Write(p)
}
