package course

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// runner runs the tests of exercises. It remembers results by the content of
// everything that went in, so a result is never stale: whatever changes, the
// tests run again.
type runner struct {
	repo     *Repo
	files    []string // the tree's Go files
	owners   Ownership
	timeout  time.Duration // for the tests alone, compiling not counted
	goFlavor string        // version and settings of the go command
	raceOK   bool          // the race detector can be used here
	raw      io.Writer     // gets what go test prints; nil for nobody
}

// testTimeout is generous for tests that never sleep, and still short for
// somebody who wrote a loop that does not end.
const testTimeout = 30 * time.Second

// compileTimeout bounds everything; a cold build of client-go takes minutes.
const compileTimeout = 15 * time.Minute

func (r *Repo) newRunner(ctx context.Context) (*runner, error) {
	chapters, err := r.written()
	if err != nil {
		return nil, err
	}
	files, owners, err := r.owned(chapters)
	if err != nil {
		return nil, err
	}
	env, err := r.goOutput(ctx, "env", "GOVERSION", "GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT", "CC")
	if err != nil {
		return nil, fmt.Errorf("asking the go command for its settings: %w", err)
	}
	settings := strings.Split(string(env), "\n")
	_, noCC := exec.LookPath(strings.TrimSpace(settings[6]))
	return &runner{repo: r, files: files, owners: owners, timeout: testTimeout,
		goFlavor: string(env), raceOK: settings[4] == "1" && noCC == nil}, nil
}

// run runs an exercise's tests with candidate in place of the reference file,
// or on the reference if candidate is empty. The tree is that of the
// exercise's chapter: a learner meets no test of a later one.
func (n *runner) run(ctx context.Context, e Exercise, candidate string) (Failure, error) {
	overlay := hide(n.owners.Hidden(e.Chapter))
	if candidate != "" {
		overlay[e.Replaces] = candidate
	}
	file, done, err := overlay.write(n.repo)
	if err != nil {
		return Failure{}, fmt.Errorf("exercise %s: %w", e.ID, err)
	}
	defer done()
	// -count=1: a test that passed by luck must not be believed twice.
	args := []string{"test", "-json", "-short", "-failfast", "-count=1", "-timeout=" + n.timeout.String(), "-overlay=" + file}
	if e.Run.Race && n.raceOK {
		args = append(args, "-race")
	}
	if e.Run.Tests != "" {
		args = append(args, "-run="+e.Run.Tests)
	}
	before, err := n.resultFile(e, candidate)
	if err != nil {
		return Failure{}, err
	}
	failure, err := n.goTest(ctx, e, append(args, e.Run.Packages...))
	if err != nil {
		return Failure{}, fmt.Errorf("running the tests of exercise %s: %w", e.ID, err)
	}
	return failure, n.remember(e, candidate, failure, before)
}

// maxOutput is more than any test prints that ends.
const maxOutput = 8 << 20

var errFlood = errors.New("the tests print too much")

// goTest runs go test -json, within bounds of time and output, and judges it.
func (n *runner) goTest(ctx context.Context, e Exercise, args []string) (Failure, error) {
	ctx, cancelTimeout := context.WithTimeout(ctx, compileTimeout)
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := n.repo.goCommand(ctx, args...)
	out, errOut := bounded{full: cancel}, bounded{full: cancel}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	runErr := cmd.Run()
	if errors.Is(context.Cause(ctx), errFlood) {
		return Failure{Status: Flooding}, nil
	}
	if ctx.Err() != nil {
		return Failure{}, context.Cause(ctx)
	}
	log := readTestLog(&out.text)
	log.other += errOut.text.String()
	if n.raw != nil {
		fmt.Fprintf(n.raw, "%s%s\n", &log.raw, log.other)
	}
	failure := judge(log, e.Run.Packages, e.Replaces)
	if failure.Status == Passed && runErr != nil {
		failure = Failure{Status: Broken, Detail: strings.TrimSpace(log.other + runErr.Error())}
	}
	return failure, nil
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

// Try is `course exercise N`: set up the learner's file on first use, run the
// tests on it, and say in plain words what to do next. verbose shows what go
// test prints, too.
func (r *Repo) Try(ctx context.Context, e Exercise, verbose bool, w io.Writer) (solved bool, err error) {
	created, err := r.Setup(e)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "exercise %s: %s\n\n", e.ID, e.Title)
	if created {
		fmt.Fprintf(w, "%s\n\nYour file is %s. It is a stub: it compiles, and its tests fail.\n\n", e.Task, e.Mine())
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return false, err
	}
	if verbose {
		n.raw = w
	}
	fmt.Fprint(w, "Running its tests. The first time takes longer, because all of it is compiled.\n\n")
	f, err := n.run(ctx, e, e.Mine())
	if err != nil {
		return false, err
	}
	if f.Status == Passed {
		fmt.Fprintf(w, "Solved: all its tests pass on %s.\n", e.Mine())
		fmt.Fprintf(w, "Next: `make diff-%s` compares it with the reference, `make chapter-%d MINE=1` runs the demo on it.\n", e.ID, e.Chapter)
		return true, nil
	}
	fmt.Fprintf(w, "%s\n\nNext: edit %s and run `make exercise-%s` again. %s\n", r.explain(e, f, e.Mine()), e.Mine(), e.ID, r.hintOffer(e))
	return false, nil
}
