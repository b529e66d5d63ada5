package dropin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TryOptions say what to try.
type TryOptions struct {
	Packages []string      // patterns; the default is ./...
	Env      string        // KUBEBUILDER_ASSETS; the drop-in needs none
	Run      string        // which tests, as for `go test -run`
	Tags     string        // build tags
	Timeout  time.Duration // of a package's tests on each side
}

// Result is what Try has seen.
type Result struct {
	Packages []*PackageResult
}

// PackageResult is what a package did on both sides.
type PackageResult struct {
	Name string
	// Original and Ours are what its tests did.
	Original, Ours *Outcome
}

// Outcome is what a package did on one side.
type Outcome struct {
	Refused string // what the compiler says, if it doesn't compile
	NoTests bool
	Log     *testLog
	Failed  bool // the test program's exit status isn't 0
	Took    time.Duration
	Spent   time.Duration // of processor time, by the test program and what it has waited for
	Peak    int64         // bytes
	Floor   bool          // it was less
}

// Try builds and tests the packages on the original and on the drop-in. It writes nothing into the
// program's tree; that the program's tests do so isn't its business. If it's interrupted, it returns
// what the packages before did, together with the error.
func (p *Program) Try(ctx context.Context, options TryOptions, progress io.Writer) (result *Result, err error) {
	if p.uses {
		return nil, errors.New(filepath.Join(p.Dir, "go.mod") + " has the lines of `loopwright use`: run `loopwright unuse` first, so that there is an original to compare with")
	}
	aside, err := newAside(p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, aside.remove()) }()
	lines, err := p.withLines()
	if err != nil {
		return nil, err
	}
	var sides [2]*side
	for i, s := range []*side{{name: "the original", mod: p.mod}, {name: "Loopwright", mod: lines}} {
		s.aside, s.options = aside, options
		if s.modfile, err = aside.modfile(fmt.Sprint(i), s.mod, p.sum); err != nil {
			return nil, err
		}
		sides[i] = s
	}
	patterns := options.Packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	stop := report(progress, "resolving modules")
	packages, err := aside.list(ctx, sides[0].modfile, options.tags(), patterns)
	if stop(); err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package matches %s", strings.Join(patterns, " "))
	}
	result = &Result{}
	for i, each := range packages {
		done := &PackageResult{Name: each.ImportPath}
		for j, to := range []**Outcome{&done.Original, &done.Ours} {
			label := fmt.Sprintf("%d/%d %s on %s", i+1, len(packages), each.ImportPath, sides[j].name)
			if *to, err = sides[j].try(ctx, each, label, progress); err != nil {
				return result, fmt.Errorf("%s: %w", label, err)
			}
		}
		result.Packages = append(result.Packages, done)
		_, _ = fmt.Fprintf(progress, "%d/%d %s: %s\n", i+1, len(packages), each.ImportPath, done.sentence())
	}
	return result, nil
}

// tags is empty without Tags: an empty flag would take the place of those in GOFLAGS.
func (o TryOptions) tags() []string {
	if o.Tags == "" {
		return nil
	}
	return []string{"-tags=" + o.Tags}
}

// side is one of the two.
type side struct {
	name    string
	mod     []byte
	aside   *aside
	options TryOptions
	modfile string
}

// try builds a package's tests and runs them, or only builds a package that has none.
func (s *side) try(ctx context.Context, p listed, label string, progress io.Writer) (*Outcome, error) {
	done := &Outcome{NoTests: len(p.TestGoFiles)+len(p.XTestGoFiles) == 0}
	program := filepath.Join(s.aside.dir, "package.test")
	build := []string{"test", "-c", "-vet=off", "-o", program} // vet finds the same on both sides
	if done.NoTests {
		build = []string{"build", "-o", os.DevNull}
	}
	build = slices.Concat(build, s.aside.linkerFlags(), s.options.tags(), []string{p.ImportPath})
	stop := report(progress, label+": compiling")
	_, err := s.aside.goCommand(ctx, s.modfile, build...)
	stop()
	var refused refusal
	if errors.As(err, &refused) {
		done.Refused = string(refused)
		return done, nil
	}
	if err != nil || done.NoTests {
		return done, err
	}
	defer func() { _ = os.Remove(program) }()
	defer report(progress, label+": testing")()
	return done, s.run(ctx, p, program, done)
}

// run runs a test program as `go test` does, so that its own process is measured.
func (s *side) run(ctx context.Context, p listed, program string, done *Outcome) error {
	arguments := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + s.options.Timeout.String()}
	report := program + ".json"
	if p.imports(ginkgo) {
		arguments = append(arguments, ginkgoFlags(report)...)
		defer func() { _ = os.Remove(report) }()
	}
	if s.options.Run != "" {
		arguments = append(arguments, "-test.run="+s.options.Run)
	}
	tests := s.aside.command(program, arguments...)
	tests.Dir = p.Dir
	tests.Env = append(tests.Env, "PWD="+p.Dir)
	if s.options.Env != "" {
		tests.Env = append(tests.Env, "KUBEBUILDER_ASSETS="+s.options.Env)
	}
	var out bytes.Buffer
	tests.Stdout, tests.Stderr = &out, &out
	began := time.Now()
	err := run(ctx, tests)
	done.Took = time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	done.Failed = err != nil
	done.Peak, done.Floor = peak(tests.ProcessState)
	done.Spent = tests.ProcessState.UserTime() + tests.ProcessState.SystemTime()
	convert := s.aside.command("go", "tool", "test2json")
	var events bytes.Buffer
	convert.Stdin, convert.Stdout = &out, &events
	if err := run(ctx, convert); err != nil {
		return fmt.Errorf("go tool test2json: %w", err)
	}
	if done.Log, err = readLog(&events); err != nil {
		return err
	}
	return done.Log.addSpecs(report)
}
