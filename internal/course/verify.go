package course

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Verify proves an exercise both ways: the stub compiles and fails, the
// reference passes, and every wrong solution is caught, each with words of its
// own. It writes what a learner would be told, so that a person can judge it,
// and where the time went.
//
// With byName, a wrong solution meets only the test that it names. That is a
// proof that this test catches it, and not that no earlier one does.
func (r *Repo) Verify(ctx context.Context, exercises []Exercise, byName bool, w io.Writer) error {
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	n.byName, n.failFast = byName, true
	var problems Problems
	var times verifyTimes
	for _, e := range exercises {
		begin := time.Now()
		more, tried, err := n.verify(ctx, e, w)
		if err != nil {
			return err
		}
		problems = append(problems, more...)
		times.add(e, tried, time.Since(begin))
	}
	fmt.Fprintln(w, times)
	return problems.Err()
}

// verifyTimes is where the time went.
type verifyTimes struct {
	exercises, solutions int
	total, most          time.Duration
	slowest              string
}

func (t *verifyTimes) add(e Exercise, tried int, took time.Duration) {
	t.exercises++
	t.solutions += tried
	t.total += took
	if took >= t.most {
		t.most, t.slowest = took, e.Name
	}
}

func (t verifyTimes) String() string {
	return fmt.Sprintf("%d exercises and %d solutions in %s; the slowest is %s with %s", t.exercises, t.solutions, inSeconds(t.total), t.slowest, inSeconds(t.most))
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// attempt is a solution that must fail, under the name by which verify reports
// it.
type attempt struct {
	solution
	name, bug string
}

// verify returns how many solutions it tried next to what is wrong.
func (n *runner) verify(ctx context.Context, e Exercise, w io.Writer) (problems Problems, tried int, err error) {
	fmt.Fprintf(w, "exercise %s: %s\n", e.ID(), e.Title)
	attempts, more, err := n.attempts(e)
	if err != nil {
		return nil, 0, err
	}
	problems = append(problems, more...)
	reference, verdicts, err := n.judgeAll(ctx, e, attempts, w)
	if err != nil {
		return nil, 0, err
	}
	if reference.Status != gotest.Passed {
		problems.add("exercise %s: the reference %s %s: the solution must pass its own tests: %s", e.ID(), e.Replaces, reference.Status, gotest.OneLine(n.repo.explain(e, reference, e.Replaces)))
	}
	for i, a := range attempts {
		fmt.Fprintf(w, "  %s (%s)\n", path.Base(a.name), a.bug)
		problems = append(problems, n.caught(e, a, verdicts[i], w)...)
	}
	more, triedMore, err := n.verifyFurther(ctx, e, w)
	return append(problems, more...), 1 + len(attempts) + triedMore, err
}

const stubName = "the stub"

// attempts lists the stub and the wrong solutions.
func (n *runner) attempts(e Exercise) (attempts []attempt, problems Problems, err error) {
	stub, err := n.repo.stub(e)
	if err == nil && n.byName {
		stub.patch, err = n.repo.stubPatch(e)
	}
	if err != nil {
		problems.add("exercise %s: %v", e.ID(), err)
	} else {
		attempts = append(attempts, attempt{stub, stubName, "Nothing is written yet."})
	}
	files, err := n.repo.wrongFiles(e)
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		problems.add("exercise %s has no wrong solutions: put the mistakes that people make into %s/wrong.txtar", e.ID(), e.Dir())
	}
	wrong, more := n.wrongAttempts(e, files)
	return append(attempts, wrong...), append(problems, more...), nil
}

// wrongAttempts are the files with mistakes.
func (n *runner) wrongAttempts(e Exercise, files []string) (attempts []attempt, problems Problems) {
	for _, file := range files {
		bug, err := n.repo.bugOf(file)
		if err != nil {
			problems.add("%v", err)
			continue
		}
		s, err := n.repo.wrong(e, file)
		if err != nil {
			problems.add("exercise %s: %v", e.ID(), err)
			continue
		}
		if n.byName {
			s.only = s.caughtBy()
		}
		attempts = append(attempts, attempt{s, file, bug})
	}
	return attempts, problems
}

// judgeAll returns a verdict for the reference and for each attempt: a remembered one, or else that of
// a run now. It says how long that took.
func (n *runner) judgeAll(ctx context.Context, e Exercise, attempts []attempt, w io.Writer) (reference gotest.Failure, verdicts []gotest.Failure, err error) {
	reference, verdicts, err = n.judgeAttempts(ctx, e, attempts, w)
	if err == nil && reference.Status != gotest.Passed {
		// There was no binary for all solutions, or the reference did not pass in it.
		if reference, err = n.cached(ctx, e, solution{}); err != nil {
			err = fmt.Errorf("running the reference of exercise %s: %w", e.ID(), err)
		}
	}
	return reference, verdicts, err
}

// judgeAttempts knows the reference's verdict only if the attempts were run together with it, and it passed.
func (n *runner) judgeAttempts(ctx context.Context, e Exercise, attempts []attempt, w io.Writer) (reference gotest.Failure, verdicts []gotest.Failure, err error) {
	verdicts = make([]gotest.Failure, len(attempts))
	var unknown []int
	b := &batch{n: n, e: e}
	var before []string
	given, err := n.inputsOf(e)
	if err != nil {
		return reference, nil, err
	}
	for i, a := range attempts {
		if a.name == stubName {
			var done bool
			if verdicts[i], done, err = n.judgeStub(ctx, e, a.solution); err != nil {
				return reference, nil, fmt.Errorf("running the stub of exercise %s: %w", e.ID(), err)
			}
			if done {
				continue
			}
		}
		f, known, err := n.recall(given, e, a.solution)
		if err != nil {
			return reference, nil, err
		}
		if known {
			verdicts[i] = f
			continue
		}
		file, err := n.resultFile(given, e, a.solution)
		if err != nil {
			return reference, nil, err
		}
		unknown, before = append(unknown, i), append(before, file)
		b.all = append(b.all, a.solution)
	}
	if len(unknown) == 0 {
		fmt.Fprintf(w, "  all %d results are remembered\n", len(attempts))
		reference, _, err = n.recall(given, e, solution{})
		return reference, verdicts, err
	}
	file, err := n.resultFile(given, e, solution{})
	if err != nil {
		return reference, nil, err
	}
	found, err := b.judge(ctx)
	if err != nil {
		return reference, nil, fmt.Errorf("running the tests of exercise %s: %w", e.ID(), err)
	}
	if given, err = n.inputsOf(e); err != nil {
		return reference, nil, err
	}
	if b.reference.Status == gotest.Passed {
		reference = b.reference
		if err := n.remember(given, e, solution{}, reference, file); err != nil {
			return reference, nil, err
		}
	}
	for k, i := range unknown {
		verdicts[i] = found[k]
		if err := n.remember(given, e, attempts[i].solution, found[k], before[k]); err != nil {
			return reference, nil, err
		}
	}
	fmt.Fprintf(w, "  %d wrong solutions tried: %s to build, %s to run\n", len(unknown), inSeconds(b.built), inSeconds(b.ran))
	if b.reference.Status != gotest.Passed && b.reference.Status != "" {
		fmt.Fprintf(w, "  the reference %s in the binary of all solutions: %s\n", b.reference.Status, gotest.OneLine(n.repo.explain(e, b.reference, e.Replaces)))
	}
	if len(b.alone) > 0 {
		fmt.Fprintf(w, "  compiled on their own: %s\n", strings.Join(b.alone, ", "))
	}
	return reference, verdicts, nil
}

// judgeStub compiles the stub on its own, as a learner does: without the functions that it leaves out. With
// byName it links no binary for it, because it can run in the one of all solutions.
func (n *runner) judgeStub(ctx context.Context, e Exercise, s solution) (f gotest.Failure, done bool, err error) {
	if s.patch == nil {
		f, err = n.cached(ctx, e, s)
		return f, true, err
	}
	overlay := hide(e.hidden)
	stub, err := s.overlay(n.repo, e)
	if err != nil {
		return f, false, err
	}
	maps.Copy(overlay, stub)
	file, remove, err := overlay.write(n.repo, nil)
	if err != nil {
		return f, false, err
	}
	defer remove()
	if _, err := n.repo.goOutput(ctx, "build", "-overlay="+file, miniPackage); err != nil {
		return gotest.Failure{Status: gotest.NoCompile, Detail: err.Error()}, true, context.Cause(ctx)
	}
	return f, false, nil
}

// caught checks the verdict on a solution that must fail.
func (n *runner) caught(e Exercise, a attempt, f gotest.Failure, w io.Writer) (problems Problems) {
	switch f.Status {
	case gotest.Passed:
		problems.add("exercise %s: %s passes %s: add a test that catches it, or remove it", e.ID(), a.name, cmp.Or(a.only, "all tests"))
		return problems
	case gotest.NoCompile, gotest.NoTests, gotest.Broken:
		problems.add("exercise %s: %s must compile and fail a test, but it %s: %s", e.ID(), a.name, f.Status, gotest.OneLine(f.Detail))
		return problems
	}
	if a.name == stubName && f.Status == gotest.TimedOut {
		problems.add("exercise %s: the stub runs into the time-out: make it fail at once, a learner's first run waits for it", e.ID())
	}
	problems = append(problems, caughtByName(e, a, f)...)
	if f.Status == gotest.Failing && f.Message == "" && n.repo.testDoc(e, f).text == "" {
		problems.add("exercise %s: %s fails %s, which has neither a message nor a comment that tells a learner what it means", e.ID(), a.name, f.Test)
	}
	fmt.Fprintln(w, indent(n.repo.explain(e, f, a.file), "    "))
	return problems
}

// caughtByName proves that a mistake is caught by the test that it names.
func caughtByName(e Exercise, a attempt, f gotest.Failure) (problems Problems) {
	if a.name == stubName {
		return nil
	}
	test, _, _ := strings.Cut(f.Test, "/")
	if want := a.caughtBy(); test != want {
		problems.add("exercise %d: %s says that it is caught by %q, and %q catches it (%s)", e.Number, path.Base(a.name), want, test, f.Status)
	}
	return problems
}

// caughtBy is the test that a wrong solution names.
func (s solution) caughtBy() string {
	for line := range strings.SplitSeq(string(s.content), "\n") {
		if name, ok := strings.CutPrefix(line, "// Caught by: "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// bugOf returns the first line of a wrong solution, which says what is wrong.
func (r *Repo) bugOf(file string) (string, error) {
	text, err := r.read(file)
	if err != nil {
		return "", fmt.Errorf("reading a wrong solution: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	bug, ok := strings.CutPrefix(line, "// ")
	if !ok {
		return "", fmt.Errorf("%s must begin with a comment that says which bug it has", file)
	}
	return bug, nil
}
