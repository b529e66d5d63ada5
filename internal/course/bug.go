package course

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course/gotest"
	"github.com/loopwright/loopwright/internal/course/splice"
)

// hunt is what a learner's directory remembers of the mistakes that were planted in it. They have ids, because
// their names say too much.
type hunt struct {
	Planted string   // the one that is in the file; empty once it was found
	Hints   int      // how many of its hints were shown
	Had     []string // all that were planted
	Found   int      // how many of them were found; the others were given up
}

// mistake is one of an exercise's wrong solutions, as a complete file.
type mistake struct {
	solution
	id, bug   string
	functions []string // where it is
	text      []byte
}

// BugOptions is what a hunter may want besides a verdict.
type BugOptions struct {
	Hint  bool // the next hint
	Again bool // another mistake: this one is given up, and the file is kept under another name
}

// hunted is the exercise for a hunt: in a directory of its own.
func (e Exercise) hunted() Exercise {
	e.suffix = "-bug"
	return e
}

// Bug is `course bug N`. First it plants one of the exercise's mistakes in a copy of the reference. From then on
// it says whether the learner has found it. There are two ways: correct the file, or write a test that fails on
// it and passes on the reference. The next call plants the next mistake.
//
// All learners get them in the same order, so a class can hunt together. missed is set if there was something to
// judge, and the mistake is not found.
func (r *Repo) Bug(ctx context.Context, e Exercise, options BugOptions, w io.Writer) (missed bool, err error) {
	e = e.hunted()
	all, err := r.mistakes(e)
	if err != nil {
		return false, err
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "exercise %s: find the mistake in %s\n\n", e.ID(), e.Mine())
	h := r.readHunt(e)
	planted := slices.IndexFunc(all, func(m mistake) bool { return m.id == h.Planted })
	switch {
	case h.Planted == "" || options.Again:
		return false, n.plant(ctx, e, h, all, w)
	case planted < 0:
		return false, fmt.Errorf("the course no longer has this mistake: `make bug-%d AGAIN=1` keeps your file, and plants another one", e.Number)
	case options.Hint:
		return false, r.bugHint(e, h, all[planted], w)
	}
	found, err := n.judgeHunt(ctx, e, all[planted], w)
	if err != nil {
		return false, err
	}
	if !found {
		fmt.Fprintf(w, "Stuck? `make bug-%d HINT=1` shows one of %d hints.\n", e.Number, bugHints)
		return true, nil
	}
	h.Found, h.Planted = h.Found+1, ""
	fmt.Fprintf(w, "\nYou've found %d of %d. `make bug-%d` plants the next one.\n", h.Found, len(all), e.Number)
	return false, r.writeHunt(e, h)
}

// mistakes lists those of an exercise in the order in which they are planted. That of their ids is as good as
// chance: those of one function do not follow each other.
func (r *Repo) mistakes(e Exercise) (all []mistake, err error) {
	base, err := r.parse(e.Replaces)
	if err != nil {
		return nil, err
	}
	files, err := r.wrongFiles(e)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var m mistake
		if m.solution, err = r.wrong(e, file); err != nil {
			return nil, err
		}
		if m.bug, err = r.bugOf(file); err != nil {
			return nil, err
		}
		if m.text, err = splice.Render(base, m.patch); err != nil {
			return nil, fmt.Errorf("planting %s: %w", file, err)
		}
		for _, d := range m.patch.Decls {
			m.functions = append(m.functions, d.Names...)
		}
		m.bug = gotest.Capital(strings.TrimPrefix(m.bug, "Bug: "))
		sum := sha256.Sum256([]byte(file))
		m.id = hex.EncodeToString(sum[:4])
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b mistake) int { return strings.Compare(a.id, b.id) })
	return all, nil
}

// plant writes the next mistake that shows on this machine. A data race, for one, needs a C compiler to be seen.
// And a hunt has no use for a program that hangs.
func (n *runner) plant(ctx context.Context, e Exercise, h hunt, all []mistake, w io.Writer) error {
	for _, m := range all {
		if slices.Contains(h.Had, m.id) {
			continue
		}
		var f gotest.Failure
		var err error
		n.repo.announce(w, "Planting one. That takes longer the first time.\n\n", func() { f, err = n.show(ctx, e, m) })
		if err != nil {
			return err
		}
		if !fails(f) || f.Status == gotest.TimedOut {
			continue
		}
		if err := errors.Join(n.repo.clear(e, all, w), n.repo.keepTests(e, w)); err != nil {
			return err
		}
		if _, err := n.repo.create(e, m.text); err != nil {
			return err
		}
		fmt.Fprintf(w, `One thing in this file is wrong; the rest is the reference. Find it in one of two ways:

- Correct the file. `+"`make chapter-%[1]d BUG=1`"+` runs the chapter's program on it (XRAY=1 in a browser, too).
- Leave it, and write a test into a file beside it, such as find_test.go, in package mini. It has to fail on
  this file, and pass on the reference.

Then run `+"`make bug-%[1]d`"+` again.
`, e.Number)
		h.Planted, h.Hints, h.Had = m.id, 0, append(h.Had, m.id)
		return errors.Join(n.repo.writeHunt(e, h), n.linkPackage(e))
	}
	fmt.Fprintf(w, "There are no more: you've found %d of %d. To start over, remove %s.\n", h.Found, len(all), path.Dir(e.Mine()))
	return nil
}

// show runs the test that catches a mistake on it.
func (n *runner) show(ctx context.Context, e Exercise, m mistake) (gotest.Failure, error) {
	m.only = m.caughtBy()
	return n.cached(ctx, e, m.solution)
}

// fails reports whether a test has run, and has found something.
func fails(f gotest.Failure) bool {
	return !slices.Contains([]gotest.Status{gotest.Passed, gotest.NoCompile, gotest.NoTests, gotest.Broken}, f.Status)
}

// clear makes room for a file. The one that is there is kept under another name, unless it is as it was planted,
// or the reference again.
func (r *Repo) clear(e Exercise, all []mistake, w io.Writer) error {
	text, err := r.read(e.Mine())
	if err != nil {
		return ignoreMissing(err)
	}
	corrected, err := r.isReference(e.Mine(), e)
	if err != nil {
		return err
	}
	if corrected || slices.ContainsFunc(all, func(m mistake) bool { return bytes.Equal(m.text, text) }) {
		return os.Remove(r.Abs(e.Mine()))
	}
	kept, err := r.rename(e.Mine())
	if err == nil {
		fmt.Fprintf(w, "Your file is kept in %s.\n\n", kept)
	}
	return err
}

// keepTests gives the tests of the hunt before other names: they are about another mistake.
func (r *Repo) keepTests(e Exercise, w io.Writer) error {
	extra, err := r.extraFiles(myDir, e)
	if err != nil {
		return err
	}
	for _, to := range sortedKeys(extra) {
		if !strings.HasSuffix(to, "_test.go") {
			continue
		}
		kept, err := r.rename(extra[to])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "Your test is kept in %s.\n\n", kept)
	}
	return nil
}

// judgeHunt says whether the learner has corrected the file, or has a test that catches the mistake.
func (n *runner) judgeHunt(ctx context.Context, e Exercise, m mistake, w io.Writer) (found bool, err error) {
	if _, err := n.repo.create(e, m.text); err != nil { // if it was removed
		return false, err
	}
	if err := n.linkPackage(e); err != nil {
		return false, err
	}
	mine, err := n.repo.learner(e)
	if err != nil {
		return false, err
	}
	var f gotest.Failure
	n.repo.announce(w, "Compiling its tests. That takes longer the first time.\n\n", func() { f, err = n.cached(ctx, e, mine) })
	if err != nil {
		return false, err
	}
	text, err := n.repo.read(e.Mine())
	if err != nil {
		return false, err
	}
	unchanged := bytes.Equal(text, m.text)
	if f.Status == gotest.Passed && !unchanged {
		fmt.Fprintln(w, "Found: all tests pass on your file.")
		return true, n.reveal(ctx, e, m, w)
	}
	if f.Status == gotest.NoCompile {
		fmt.Fprintf(w, "It doesn't compile:\n\n%s\n\n", indent(n.repo.shortPaths(f.Detail), "    "))
		return false, nil
	}
	own, files, err := n.repo.ownTests(e, mine)
	if err != nil {
		return false, err
	}
	failed, _, _ := strings.Cut(f.Test, "/")
	switch {
	case len(own.Tests) > 0:
		return n.judgeOwnTests(ctx, own, m, files, w)
	case unchanged:
		fmt.Fprintln(w, "Not found yet: you haven't changed the file, and there's no test of yours beside it.")
	case failed == m.caughtBy():
		fmt.Fprintln(w, "Not found yet: the mistake is still in it.")
	default:
		fmt.Fprintf(w, "Not found yet, or your change breaks something else.\n\n%s\n\n", n.repo.explain(e, f, e.Mine()))
	}
	return false, nil
}

// ownTests is the exercise with the tests that the learner has written, and the files with these.
func (r *Repo) ownTests(e Exercise, mine solution) (Exercise, solution, error) {
	e.Tests = nil
	tests := solution{content: mine.content, extra: Overlay{}}
	for _, to := range sortedKeys(mine.extra) {
		from := mine.extra[to]
		if !strings.HasSuffix(from, "_test.go") {
			continue
		}
		names, err := r.testsIn(from)
		if err != nil {
			return e, tests, fmt.Errorf("reading your tests: %w", err)
		}
		e.Tests, tests.extra[to] = append(e.Tests, names...), from
	}
	return e, tests, nil
}

// judgeOwnTests runs the learner's tests on the reference and on the file as it was planted.
func (n *runner) judgeOwnTests(ctx context.Context, e Exercise, m mistake, tests solution, w io.Writer) (caught bool, err error) {
	onReference, err := n.run(ctx, e, tests)
	if err != nil {
		return false, err
	}
	if onReference.Status != gotest.Passed {
		fmt.Fprintf(w, "%s\n", wrap(fmt.Sprintf("Not caught yet: %s fails on the reference, too, so it tests something that isn't promised: %s", onReference.Test, n.repo.saw(e, onReference)), 80))
		return false, nil
	}
	tests.file, tests.patch, tests.content = m.file, m.patch, slices.Concat(m.content, tests.content)
	onPlanted, err := n.run(ctx, e, tests)
	if err != nil {
		return false, err
	}
	if !fails(onPlanted) {
		fmt.Fprintln(w, "Not caught yet: your tests pass on the planted file, as they do on the reference.")
		return false, nil
	}
	fmt.Fprintf(w, "Caught: %s fails on the planted file, and passes on the reference.\n", onPlanted.Test)
	return true, n.reveal(ctx, e, m, w)
}

// reveal says what the mistake was, and how mini's test shows it.
func (n *runner) reveal(ctx context.Context, e Exercise, m mistake, w io.Writer) error {
	f, err := n.show(ctx, e, m)
	f.Line = 0 // of a file that the learner has not seen
	fmt.Fprintf(w, "\nThe mistake: %s\n\n%s\n", m.bug, wrap(fmt.Sprintf("Mini's %s catches it: %s", m.caughtBy(), n.repo.saw(e, f)), 80))
	return err
}

// saw is what a test saw, without its name.
func (r *Repo) saw(e Exercise, f gotest.Failure) string {
	return strings.TrimPrefix(r.happened(f, r.testDoc(e, f).text), quoted(f)+": ")
}

const bugHints = 3

// bugHint shows the next hint, and all of them once all have been seen.
func (r *Repo) bugHint(e Exercise, h hunt, m mistake, w io.Writer) error {
	for i, text := range [bugHints]string{
		fmt.Sprintf("This isn't true: %q.", sentence(m.caughtBy())),
		fmt.Sprintf("Look at %s.", list(m.functions, "and")),
		m.bug,
	} {
		if i == h.Hints || h.Hints == bugHints {
			fmt.Fprintf(w, "Hint %d of %d. %s\n", i+1, bugHints, text)
		}
	}
	h.Hints = min(h.Hints+1, bugHints)
	return r.writeHunt(e, h)
}

func (e Exercise) huntFile() string { return path.Join(path.Dir(e.Mine()), ".hunt.json") }

// readHunt takes a file that is missing or damaged for a hunt that has not begun.
func (r *Repo) readHunt(e Exercise) (h hunt) {
	if text, err := r.read(e.huntFile()); err == nil && json.Unmarshal(text, &h) != nil {
		return hunt{}
	}
	return h
}

func (r *Repo) writeHunt(e Exercise, h hunt) error {
	text, err := json.Marshal(h)
	if err == nil {
		err = os.WriteFile(r.Abs(e.huntFile()), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("remembering the hunt of exercise %s: %w", e.ID(), err)
	}
	return nil
}
