package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/loopwright/loopwright/internal/course/gotest"
	"github.com/loopwright/loopwright/internal/course/splice"
)

// The third kind of exercise has a task and a test, and no solution that a learner could read. further.txtar has
// the test, and what proves that it can be passed and failed: a solution, as what differs from the reference, and
// mistakes, as what differs from the solution.
const (
	furtherTest     = "further_test.go"
	furtherSolution = "solution.go"
	furtherTitle    = "## Go further\n"
)

func (e Exercise) furtherArchive() string { return path.Join(e.Dir(), "further.txtar") }

// furtherMine is a link to the test, beside the learner's file. The first run makes it, so it also says who has begun.
func (e Exercise) furtherMine() string { return path.Join(path.Dir(e.Mine()), furtherTest) }

func (e Exercise) furtherDir() string { return path.Join(stateDir, "further", e.Name) }

// withLinks calls the test by the name under which a learner finds it.
func (e Exercise) withLinks(text string) string {
	return strings.NewReplacer(path.Join(e.furtherDir(), furtherTest), e.furtherMine(), path.Join(miniDir, furtherTest), e.furtherMine()).Replace(text)
}

// further is the exercise with the test that goes further, based on the solution of that. It also lists the files with
// the mistakes.
func (r *Repo) further(e Exercise) (goes Exercise, wrong []string, err error) {
	text, err := r.read(e.furtherArchive())
	if err != nil {
		return e, nil, fmt.Errorf("exercise %d has no task that goes further: %w", e.Number, err)
	}
	var solution string
	for _, f := range txtar.Parse(text).Files {
		file := path.Join(e.furtherDir(), f.Name)
		if err := r.writeState(file, f.Data); err != nil {
			return e, nil, err
		}
		switch f.Name {
		case furtherTest:
			e.more = Overlay{path.Join(miniDir, furtherTest): file}
		case furtherSolution:
			solution = file
		default:
			wrong = append(wrong, file)
		}
	}
	if e.more == nil || solution == "" || len(wrong) == 0 {
		return e, nil, fmt.Errorf("%s needs %s, %s, and at least one mistake", e.furtherArchive(), furtherTest, furtherSolution)
	}
	tests, err := r.testsIn(path.Join(e.furtherDir(), furtherTest))
	if err != nil {
		return e, nil, fmt.Errorf("reading the tests of %s: %w", e.furtherArchive(), err)
	}
	reference, err := r.parse(e.Replaces)
	if err != nil {
		return e, nil, err
	}
	patch, err := r.parse(solution)
	if err != nil {
		return e, nil, err
	}
	whole, err := splice.Render(reference, patch)
	if err != nil {
		return e, nil, fmt.Errorf("%s: %w", solution, err)
	}
	e.base = path.Join(e.furtherDir(), "solved", path.Base(e.Replaces))
	e.Tests, e.Function = slices.Concat(e.Tests, tests), nil
	return e, wrong, r.writeState(e.base, whole)
}

// GoFurther is `course further N`: it says the task on the first run, and tests the learner's own file from then on.
func (r *Repo) GoFurther(ctx context.Context, e Exercise, w io.Writer) (done bool, err error) {
	goes, _, err := r.further(e)
	if err != nil {
		return false, err
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "exercise %s: go further in %s\n\n", e.ID(), e.Mine())
	if !r.has(e.Mine()) || !r.exists(e.furtherMine()) {
		isSolved, err := n.isSolved(ctx, e, w)
		if err != nil {
			return false, err
		}
		if !isSolved {
			fmt.Fprintf(w, "First solve exercise %[1]d: `make exercise-%[1]d` tests your file,\nand `make solve-%[1]d` fills in the reference.\n", e.Number)
			return false, nil
		}
		fmt.Fprintf(w, "%s\n\nThe test is %s. The exercise's own tests must still pass.\n\n", e.Further, e.furtherMine())
	}
	f, err := n.tryMine(ctx, goes, false, w)
	if err != nil {
		return false, err
	}
	if f.Status == gotest.Passed {
		fmt.Fprintf(w, "Done: all tests pass on %s, those of the exercise and those that go further.\n", e.Mine())
		return true, nil
	}
	r.tell(goes, f, fmt.Sprintf("edit %s and run `make further-%d` again.", e.Mine(), e.Number), w)
	return false, nil
}

// wentFurther reports whether the learner has done it.
func (n *runner) wentFurther(ctx context.Context, e Exercise, mine solution) (bool, error) {
	if !n.repo.exists(e.furtherMine()) {
		return false, nil
	}
	goes, _, err := n.repo.further(e)
	if err != nil {
		return false, err
	}
	f, err := n.cached(ctx, goes, mine)
	return f.Status == gotest.Passed, err
}

// verifyFurther proves that the reference isn't enough, that the task can be done, and that each mistake is caught.
func (n *runner) verifyFurther(ctx context.Context, e Exercise, w io.Writer) (problems Problems, tried int, err error) {
	if e.Further == "" {
		return nil, 0, nil
	}
	goes, wrong, err := n.repo.further(e)
	if err != nil {
		return Problems{err.Error()}, 0, nil
	}
	attempts, problems := n.wrongAttempts(goes, wrong)
	fmt.Fprintln(w, "  going further:")
	solved, verdicts, err := n.judgeAll(ctx, goes, attempts, w)
	if err != nil {
		return nil, 0, err
	}
	if solved.Status != gotest.Passed {
		problems.add("exercise %d: the solution in %s %s: %s", e.Number, e.furtherArchive(), solved.Status, gotest.OneLine(n.repo.explain(goes, solved, goes.base)))
	}
	for i, a := range attempts {
		fmt.Fprintf(w, "  %s (%s)\n", path.Base(a.name), a.bug)
		problems = append(problems, n.caught(goes, a, verdicts[i], w)...)
	}
	text, err := n.repo.read(e.Replaces)
	if err != nil {
		return nil, 0, err
	}
	reference, err := n.cached(ctx, goes, solution{file: e.Replaces, content: text, isStub: true})
	switch {
	case err != nil:
		return nil, 0, err
	case reference.Status == gotest.Passed:
		problems.add("exercise %d: the reference passes %s of %s as it is: nothing is left to do", e.Number, furtherTest, e.furtherArchive())
	case !slices.Contains([]gotest.Status{gotest.NoCompile, gotest.Failing}, reference.Status):
		problems.add("exercise %d: the reference %s in %s: let it fail at once, a learner's first run waits for it", e.Number, reference.Status, furtherTest)
	}
	return problems, 2 + len(attempts), nil
}

// checkFurther proves, without a compiler, that there's a task that goes further, with tests that each say what
// they are for and take their cases in a fixed order, and with mistakes that the tests are said to catch.
func (r *Repo) checkFurther(e Exercise) (problems Problems) {
	if e.Further == "" {
		problems.add("%s needs a section %q, with a task whose test is in %s", e.Text(), strings.TrimSpace(furtherTitle), e.furtherArchive())
	}
	goes, wrong, err := r.further(e)
	if err != nil {
		problems.add("%v", err)
		return problems
	}
	for _, file := range wrong {
		if _, err := r.bugOf(file); err != nil {
			problems.add("%v", err)
		}
		s, err := r.wrong(goes, file)
		if err != nil {
			problems.add("exercise %d: %v", e.Number, err)
		} else if !slices.Contains(goes.Tests, s.caughtBy()) {
			problems.add("exercise %d: %s of %s names no test that catches it", e.Number, path.Base(file), e.furtherArchive())
		}
	}
	test := path.Join(e.furtherDir(), furtherTest)
	docs, err := r.testDocs(test)
	if err != nil {
		problems.add("reading the tests of %s: %v", e.furtherArchive(), err)
	}
	for _, name := range sortedKeys(docs) {
		if strings.HasPrefix(name, "Test") && docs[name].text == "" {
			problems.add("%s: %s needs a comment: what would a user lose if it failed? A learner who fails a check without a message reads that", e.furtherArchive(), name)
		}
	}
	return append(problems, r.checkCases(test)...)
}
