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

// Options say what to run.
type Options struct {
	Root    string   // of the module, absolute
	Files   []string // relative to Root
	Jobs    int      // test binaries at the same time
	Check   int      // how many mutants of each file to try as plain source, too
	Seed    uint64   // picks them
	Live    bool     // the output is a terminal: count while a file runs
	Verbose bool     // every mutant with its verdict
}

// errNotGood is returned by Run when it worked, and the tests are not as they should be.
var errNotGood = errors.New("see above")

// Run runs the mutants of the files and reports. It returns an error if a file misses the
// target, or a check failed.
func Run(ctx context.Context, o Options, w io.Writer) error {
	for _, file := range o.Files {
		if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("there is no file %s: give its path from the root, such as workqueue/queue.go", file)
		}
	}
	r := &report{Options: o, w: w, random: rand.New(rand.NewPCG(o.Seed, 0))}
	for _, dir := range dirsOf(o.Files) {
		files := slices.DeleteFunc(slices.Clone(o.Files), func(f string) bool { return path.Dir(f) != dir })
		if err := r.dir(ctx, dir, files); err != nil {
			return err
		}
	}
	if r.bad {
		return errNotGood
	}
	return nil
}

type report struct {
	Options
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
	l, err := prepare(ctx, s, r.Jobs, work)
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
	s := tally(outcomes)
	fmt.Fprintf(r.w, "%-40s %4d mutants, %4d covered, %4d killed (%d hung), %3d survived: %.1f %% (%s)\n",
		file, s.mutants, s.covered, s.killed, s.hung, s.covered-s.killed, s.score(), time.Since(start).Round(time.Second))
	for _, o := range outcomes {
		if r.Verbose || o.verdict == survived {
			fmt.Fprintf(r.w, "  %s: %v (%d tests: %s)\n", o.verdict, o.Mutant, len(o.tests), some(o.tests))
		}
	}
	if s.score() < target {
		r.problem("%s: %.1f %% is below the target of %d %%", file, s.score(), target)
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

// target is the part of the covered mutants that the tests must notice, in per cent. Some mistakes cannot be noticed:
// the code does the same.
const target = 95

// sums are what became of the mutants of a file.
type sums struct{ mutants, covered, killed, hung int }

func tally(outcomes []Outcome) (s sums) {
	s.mutants = len(outcomes)
	for _, o := range outcomes {
		if o.verdict != uncovered {
			s.covered++
		}
		if o.verdict == killed || o.verdict == hung {
			s.killed++
		}
		if o.verdict == hung {
			s.hung++
		}
	}
	return s
}

// score is the part of the covered mutants that the tests notice, in per cent.
func (s sums) score() float64 {
	if s.covered == 0 {
		return 100
	}
	return 100 * float64(s.killed) / float64(s.covered)
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
