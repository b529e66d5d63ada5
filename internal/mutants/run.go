package mutants

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Outcome is a mutant and what the tests said.
type Outcome struct {
	*Mutant
	verdict verdict
	tests   []string // those that reach it, the quickest first
}

// equivalents has a line for each mutant that no test can notice, because it does the same as the code.
//
//go:embed equivalent.txt
var equivalents string

// equivalent returns how the names of a file's equivalent mutants begin.
func equivalent(file string) (same []string) {
	for line := range strings.Lines(equivalents) {
		if name, ok := strings.CutPrefix(line, file+": "); ok {
			same = append(same, strings.TrimSpace(name))
		}
	}
	return same
}

// lab runs the mutants of one package.
type lab struct {
	*schemata
	jobs    int    // test binaries that run at the same time
	work    string // for what it writes
	binary  string
	took    map[string]cost         // by test, with no mutant active
	reaches map[string]map[int]bool // by test: the mutants that it reaches
	unfit   map[string]bool         // tests that pass, but not with the switches
}

// prepare compiles the schemata and runs every test alone
// and with no mutant active. All must pass: that is the proof that the switches
// change nothing. It also shows which mutants each test reaches.
//
// A test that passes only without the switches judges nothing: one that counts
// allocations, say, since a function with switches is too large to be inlined.
func prepare(ctx context.Context, s *schemata, jobs int, work string) (*lab, error) {
	l := &lab{schemata: s, jobs: jobs, work: work, took: map[string]cost{}, reaches: map[string]map[int]bool{}, unfit: map[string]bool{}}
	var err error
	if l.binary, err = compile(ctx, s.root, s.dir, s.text, work, "schemata"); err != nil {
		return nil, err
	}
	names, err := testsOf(ctx, l.binary, l.packageDir())
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no test", s.dir)
	}
	plain := sync.OnceValues(func() (string, error) { return compile(ctx, s.root, s.dir, nil, work, "plain") })
	var mu sync.Mutex // guards took, reaches and unfit
	return l, l.each(ctx, len(names), func(ctx context.Context, i int) error {
		name := names[i]
		took, reached, err := l.baseline(ctx, name)
		unfit := err != nil && ctx.Err() == nil && l.passes(ctx, name, plain)
		mu.Lock()
		defer mu.Unlock()
		if unfit {
			l.unfit[name] = true
			return nil
		}
		l.took[name], l.reaches[name] = took, reached
		return err
	})
}

// testsOf lists the tests of a test binary that can fail: benchmarks cannot.
func testsOf(ctx context.Context, binary, dir string) ([]string, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.list=^(Test|Fuzz|Example)")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", filepath.Base(dir), err)
	}
	return strings.Fields(string(out)), nil
}

// passes reports whether a test passes in a binary.
func (l *lab) passes(ctx context.Context, name string, compiled func() (binary string, err error)) bool {
	binary, err := compiled()
	if err != nil {
		return false
	}
	v, _, _, err := test(ctx, binary, l.packageDir(), nil, []string{name}, func(string) time.Duration { return baselineLimit })
	return err == nil && v == survived
}

// baselineLimit is for a test with no mutant active, on a machine with other things to do.
const baselineLimit = 5 * time.Minute

func (l *lab) baseline(ctx context.Context, name string) (took cost, reached map[int]bool, err error) {
	notes := filepath.Join(l.work, "reached-"+name)
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		return took, nil, fmt.Errorf("writing the notes of a test: %w", err)
	}
	v, out, took, err := test(ctx, l.binary, l.packageDir(), []string{notesVariable + "=" + notes}, []string{name},
		func(string) time.Duration { return baselineLimit })
	if err != nil {
		return took, nil, err
	}
	if v != survived {
		return took, nil, fmt.Errorf("%s %s with no mutant active, so it cannot judge any:\n%s", name, v, out)
	}
	text, err := os.ReadFile(notes)
	if err != nil {
		return took, nil, fmt.Errorf("reading the notes of a test: %w", err)
	}
	reached = map[int]bool{}
	for _, line := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(line)
		if err != nil {
			return took, nil, fmt.Errorf("reading the notes of %s: %w", name, err)
		}
		reached[id] = true
	}
	return took, reached, nil
}

func (l *lab) packageDir() string { return filepath.Join(l.root, filepath.FromSlash(l.dir)) }

// file runs all mutants of a file but those that do the same. done is called after each of them.
func (l *lab) file(ctx context.Context, name string, done func(n, of int)) ([]Outcome, error) {
	same := equivalent(name)
	var outcomes []Outcome
	for _, m := range l.mutants {
		if m.File != name {
			continue
		}
		is := func(line string) bool { return strings.HasPrefix(m.name(), line) }
		if at := slices.IndexFunc(same, is); at >= 0 {
			same = slices.Delete(same, at, at+1)
			continue
		}
		outcomes = append(outcomes, Outcome{Mutant: m, tests: l.reaching(m)})
	}
	if len(same) > 0 {
		return nil, fmt.Errorf("equivalent.txt: take this line out, there is no such mutant: %s", same[0])
	}
	var mu sync.Mutex // guards n
	n := 0
	return outcomes, l.each(ctx, len(outcomes), func(ctx context.Context, i int) (err error) {
		o := &outcomes[i]
		o.verdict, err = l.try(ctx, l.binary, o.ID, o.tests)
		mu.Lock()
		defer mu.Unlock()
		n++
		done(n, len(outcomes))
		return err
	})
}

// reaching lists the tests that reach a mutant, the quickest first.
func (l *lab) reaching(m *Mutant) []string {
	var tests []string
	for _, name := range sorted(l.reaches) {
		if l.reaches[name][m.ID] {
			tests = append(tests, name)
		}
	}
	slices.SortStableFunc(tests, func(a, b string) int { return int(l.took[a].wall - l.took[b].wall) })
	return tests
}

// quick tests run in one process, since to start one takes as long as they do. It is the time of the processor that says
// which are quick: on a busy machine, the clock calls all of them slow.
const quick = 100 * time.Millisecond

// cost is what a test took.
type cost struct{ wall, processor time.Duration }

// limit is how long a test may take with a mutant: ten times the work, and the pauses of a busy machine.
// The time on the clock counts less, since others may have been at work when it was measured.
func (c cost) limit() time.Duration { return pause + 10*c.processor + 2*c.wall }

const pause = 4 * time.Second

// try runs the tests that reach a mutant until one of them notices it.
func (l *lab) try(ctx context.Context, binary string, id int, tests []string) (verdict, error) {
	if len(tests) == 0 {
		return uncovered, nil
	}
	for len(tests) > 0 {
		n := 1
		for n < len(tests) && l.took[tests[n]].processor < quick {
			n++
		}
		v, err := l.run(ctx, binary, id, tests[:n], 1)
		if v == starved {
			v, err = l.run(ctx, binary, id, tests[:n], 5)
		}
		if v == starved { // it does nothing, whatever time it gets
			v = hung
		}
		if err != nil || v != survived {
			return v, err
		}
		tests = tests[n:]
	}
	return survived, nil
}

// run runs some tests with a mutant, each with this many times its limit. Tests that did not end, and
// were hardly given the processor on a busy machine, are starved.
func (l *lab) run(ctx context.Context, binary string, id int, tests []string, times time.Duration) (verdict, error) {
	v, _, took, err := test(ctx, binary, l.packageDir(), []string{activeVariable + "=" + strconv.Itoa(id)}, tests,
		func(test string) time.Duration { return times * l.took[test].limit() })
	var most time.Duration // of one test, since one of them hangs
	for _, name := range tests {
		most = max(most, l.took[name].processor)
	}
	if v == hung && took.processor < time.Second+3*most {
		v = starved
	}
	return v, err
}

// each calls f for 0 to n-1, a few at a time, until one call fails.
func (l *lab) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int) // from here to the workers; closed here
	var workers sync.WaitGroup
	for range l.jobs {
		workers.Go(func() {
			for i := range work {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}
