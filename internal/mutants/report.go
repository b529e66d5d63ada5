package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say what to run, and where to write it down.
type Options struct {
	Root       string   // of the module, absolute
	Files      []string // relative to Root
	Jobs       int      // test binaries at the same time
	Check      int      // so many mutants of each file as plain source, too
	Seed       uint64   // picks them
	Equivalent string   // the list of equivalent mutants
	Summary    string   // where the summary is; empty for none
	Course     bool     // pure cores are judged by their exercises
	Live       bool     // the output is a terminal: count while a file runs
	Verbose    bool     // every mutant with its verdict
	Entries    bool     // survivors as entries for the list of equivalent mutants
}

// errNotGood is returned by Run when it worked, and the tests or the list of equivalent
// mutants are not as they should be.
var errNotGood = errors.New("see above")

// Run runs the mutants of the files and reports. It returns an error if a file misses its
// target, an entry for an equivalent mutant is stale, or a check failed.
func Run(ctx context.Context, o Options, w io.Writer) error {
	for _, file := range o.Files {
		if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("there is no file %s: give its path from the root, such as workqueue/queue.go", file)
		}
	}
	list, err := readEquivalents(o.Equivalent)
	if err != nil {
		return err
	}
	var j *judges
	if o.Course {
		if j, err = newJudges(o.Root); err != nil {
			return err
		}
	}
	r := &report{Options: o, list: list, judges: j, w: w, random: rand.New(rand.NewPCG(o.Seed, 0))}
	for _, dir := range dirsOf(o.Files) {
		files := slices.DeleteFunc(slices.Clone(o.Files), func(f string) bool { return path.Dir(f) != dir })
		if err := r.dir(ctx, dir, files); err != nil {
			return err
		}
	}
	for _, e := range list {
		if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(e.File))); err != nil {
			r.problem("%v: is listed as equivalent, but there is no such file: correct or remove the entry", e)
		}
	}
	if r.bad {
		return errNotGood
	}
	return nil
}

type report struct {
	Options
	list   []Equivalent
	judges *judges
	w      io.Writer
	random *rand.Rand
	bad    bool
}

func (r *report) problem(format string, args ...any) {
	r.bad = true
	fmt.Fprintf(r.w, "  "+format+"\n", args...)
}

// dir runs the files of one package, which share one test binary.
func (r *report) dir(ctx context.Context, dir string, files []string) error {
	work, err := os.MkdirTemp("", "loopwright-mutants-")
	if err != nil {
		return fmt.Errorf("making room for the mutants: %w", err)
	}
	defer os.RemoveAll(work)
	start := time.Now()
	t, err := load(ctx, r.Root, dir)
	if err != nil {
		return err
	}
	s, err := t.build(files)
	if err != nil {
		return err
	}
	l, err := prepare(ctx, s, r.judges, files, r.Jobs, work)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.w, "%s: %d mutants in %d files; all %d tests pass with none of them active (%s)\n",
		dir, len(s.mutants), len(files), len(l.took), time.Since(start).Round(time.Second))
	for _, name := range sorted(l.unfit) {
		fmt.Fprintf(r.w, "  %s passes without the switches only, so it judges nothing\n", name)
	}
	for _, file := range files {
		if err := r.file(ctx, l, file); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) file(ctx context.Context, l *lab, file string) error {
	start := time.Now()
	outcomes, err := l.file(ctx, file, func(n, of int) {
		if r.Live {
			fmt.Fprintf(r.w, "\r%s: %d of %d ", file, n, of)
		}
	})
	if err != nil {
		return err
	}
	if r.Live {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
	line := tally(file, r.judges.name(file), outcomes, r.list)
	hangs := 0
	for _, o := range outcomes {
		if o.verdict == hung {
			hangs++
		}
	}
	fmt.Fprintf(r.w, "%-40s %4d mutants, %4d covered, %4d killed (%d hung), %3d survived, %2d equivalent: %.1f %% (%s; %s)\n", file, line.mutants,
		line.covered, line.killed, hangs, line.survived, line.equivalent, line.score(), line.judge, time.Since(start).Round(time.Second))
	for _, o := range outcomes {
		explained := slices.ContainsFunc(r.list, func(e Equivalent) bool { return e.is(o.Mutant) })
		if r.Verbose || o.verdict == survived && !explained {
			fmt.Fprintf(r.w, "  %s: %v (%d tests: %s)\n", o.verdict, o.Mutant, len(o.tests), some(o.tests))
		}
	}
	if r.Entries {
		text, err := entries(outcomes, r.list)
		if err != nil {
			return fmt.Errorf("writing entries for equivalent mutants: %w", err)
		}
		fmt.Fprintf(r.w, "%s", text)
	}
	for _, p := range stale(r.list, file, outcomes) {
		r.problem("%s", p)
	}
	if line.score() < float64(line.target()) {
		r.problem("%s: %.1f %% is below the target of %d %%", file, line.score(), line.target())
	}
	if r.Summary != "" {
		if err := writeSummary(r.Summary, []row{line}, func(f string) bool {
			_, err := os.Stat(filepath.Join(r.Root, filepath.FromSlash(f)))
			return err == nil
		}); err != nil {
			return err
		}
	}
	if r.Check == 0 {
		return nil
	}
	differ, err := l.check(ctx, outcomes, r.Check, r.random, r.w)
	if differ > 0 {
		r.problem("%s: %d verdicts behind a switch are not those of the plain source (seed %d)", file, differ, r.Seed)
	}
	return err
}

// some names the quickest tests; there may be hundreds.
func some(tests []string) string {
	if len(tests) > 4 {
		return strings.Join(tests[:4], " ") + " ..."
	}
	return strings.Join(tests, " ")
}

func dirsOf(files []string) []string {
	var dirs []string
	for _, f := range files {
		if d := path.Dir(f); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
