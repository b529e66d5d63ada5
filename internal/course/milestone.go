package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Milestone builds, vets and tests the tree as it stood after chapter n: all
// later files are hidden. short leaves out the tests that need a cluster.
//
// Everything that is left is built and vetted. Tests are run for the library
// and the chapters only: the ground floor is the same at every milestone, and
// `make test` has it covered.
func (r *Repo) Milestone(ctx context.Context, n int, short bool, w io.Writer) error {
	tests := allTests
	if short {
		tests = shortTests
	}
	return r.milestone(ctx, n, tests, w)
}

// milestoneTests is which tests a milestone runs.
type milestoneTests int

const (
	allTests milestoneTests = iota
	shortTests
	newTests // short ones of packages that have a file of the milestone's chapter
	noTests
)

func (r *Repo) milestone(ctx context.Context, n int, tests milestoneTests, w io.Writer) error {
	chapters, err := r.written()
	if err != nil {
		return err
	}
	c, err := r.find(chapters, n)
	if err != nil {
		return err
	}
	files, owners, err := r.owned(chapters)
	if err != nil {
		return err
	}
	hidden := owners.Hidden(n)
	overlay, done, err := hide(hidden).write(r, nil)
	if err != nil {
		return fmt.Errorf("milestone %d: %w", n, err)
	}
	defer done()

	built, vetted, tested := packagesLeft(files, hidden, func(file string) bool {
		area := areaOf(file)
		return (area == library || area == chapterDir) && (tests != newTests || owners[file] == n)
	})
	fmt.Fprintf(w, "milestone %d, %s: %d packages, %d later files hidden\n", n, c.Title, len(vetted), len(hidden))
	commands := [][]string{
		append([]string{"build", "-buildmode=archive", "-overlay=" + overlay}, built...), // vet reads commands, too; to link each of them at each milestone would take minutes
		append([]string{"vet", "-overlay=" + overlay}, vetted...),
	}
	// Vetted by the command before; and without symbol tables, which no test reads, they are linked in half the time.
	test := []string{"test", "-vet=off", "-ldflags=-s -w", "-overlay=" + overlay}
	switch tests {
	case shortTests, newTests:
		test = append(test, "-short")
		fallthrough
	case allTests:
		commands = append(commands, append(test, tested...))
	case noTests:
		fmt.Fprintf(w, "milestone %d is the whole tree: its tests are those of `go test ./...`, and not run here\n", n)
	}
	for _, args := range commands {
		if err := r.goRun(ctx, w, args...); err != nil {
			return fmt.Errorf("milestone %d does not hold, %w: a chapter's files must build and pass without later ones; move what is missing into a file of chapter %d, or what asks for it into a later one", n, err, n)
		}
	}
	return nil
}

// Milestones proves every milestone. The newest is the full tree and is tested
// in full. The earlier ones leave to it the slow tests, and those of packages that
// have no file of the chapter: they have been tested at an earlier milestone, and
// are built and vetted at each, with their tests. With short, the newest is only
// built and vetted, too: `go test ./...` tests it.
func (r *Repo) Milestones(ctx context.Context, short bool, w io.Writer) error {
	chapters, err := r.written()
	if err != nil {
		return err
	}
	for i, c := range chapters {
		tests := newTests
		if isNewest := i == len(chapters)-1; isNewest && short {
			tests = noTests
		} else if isNewest {
			tests = allTests
		}
		if err := r.milestone(ctx, c.Number, tests, w); err != nil {
			return err
		}
	}
	return nil
}

// owned lists the tree's Go files with their chapters, and refuses a tree in
// which that is not clear.
func (r *Repo) owned(chapters []Chapter) ([]string, Ownership, error) {
	files, err := r.GoFiles()
	if err != nil {
		return nil, nil, err
	}
	owners, problems := own(files, chapters)
	return files, owners, problems.Err()
}

// packagesLeft returns the packages that still have files, as arguments for
// the go command: those to build (one with only test files cannot be), to vet,
// and to test.
func packagesLeft(files, hidden []string, isTested func(file string) bool) (built, vetted, tested []string) {
	addTo := func(list *[]string, pkg string) {
		if !slices.Contains(*list, pkg) {
			*list = append(*list, pkg)
		}
	}
	for _, f := range files {
		if _, found := slices.BinarySearch(hidden, f); found {
			continue
		}
		pkg := "./" + strings.TrimSuffix(path.Dir(f), ".")
		addTo(&vetted, pkg)
		if !strings.HasSuffix(f, "_test.go") {
			addTo(&built, pkg)
		}
		if isTested(f) {
			addTo(&tested, pkg)
		}
	}
	return built, vetted, tested
}
