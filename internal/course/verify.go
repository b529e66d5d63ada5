package course

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Verify proves an exercise both ways: the stub compiles and fails, the
// reference passes, and every wrong solution is caught, each with words of its
// own. It writes what a learner would be told, so that a person can judge it.
func (r *Repo) Verify(ctx context.Context, exercises []Exercise, w io.Writer) error {
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	var problems Problems
	for _, e := range exercises {
		more, err := n.verify(ctx, e, w)
		if err != nil {
			return err
		}
		problems = append(problems, more...)
	}
	return problems.Err()
}

func (n *runner) verify(ctx context.Context, e Exercise, w io.Writer) (problems Problems, err error) {
	fmt.Fprintf(w, "exercise %s: %s\n", e.ID, e.Title)
	reference, err := n.cached(ctx, e, "")
	if err != nil {
		return nil, err
	}
	if reference.Status != Passed {
		problems.add("exercise %s: the reference %s %s: the solution must pass its own tests: %s", e.ID, e.Replaces, reference.Status, oneLine(n.repo.explain(e, reference, e.Replaces)))
	}
	told := map[string]string{} // what is told -> by which file
	stub, err := n.cached(ctx, e, e.Stub())
	if err != nil {
		return nil, err
	}
	problems = append(problems, n.caught(e, e.Stub(), stub, told, w)...)
	if stub.Status == TimedOut {
		problems.add("exercise %s: the stub %s runs into the time-out: make it fail at once, a learner's first run waits for it", e.ID, e.Stub())
	}
	wrong, err := n.repo.wrongFiles(e)
	if err != nil {
		return nil, err
	}
	if len(wrong) == 0 {
		problems.add("exercise %s has no wrong solutions: put plausible bugs into %s/testdata/wrong/*.go", e.ID, e.Dir())
	}
	for _, file := range wrong {
		bug, err := n.repo.bugOf(file)
		if err != nil {
			problems.add("%v", err)
			continue
		}
		f, err := n.cached(ctx, e, file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "  %s (%s)\n", path.Base(file), bug)
		problems = append(problems, n.caught(e, file, f, told, w)...)
	}
	return problems, nil
}

// caught checks the verdict on a file that must fail.
func (n *runner) caught(e Exercise, file string, f Failure, told map[string]string, w io.Writer) (problems Problems) {
	switch f.Status {
	case Passed:
		problems.add("exercise %s: %s passes all tests: add a test that catches it, or remove it", e.ID, file)
		return problems
	case NoCompile, NoTests, Broken:
		problems.add("exercise %s: %s must compile and fail a test, but it %s: %s", e.ID, file, f.Status, oneLine(f.Detail))
		return problems
	}
	if other, taken := told[f.core()]; taken {
		problems.add("exercise %s: a learner is told the same for %s as for %s: make a test's message or order tell the two apart", e.ID, file, other)
	}
	told[f.core()] = file
	if f.Status == Failing && f.Message == "" && n.repo.testDoc(f).text == "" {
		problems.add("exercise %s: %s fails %s, which has neither a message nor a comment that tells a learner what it means", e.ID, file, f.Test)
	}
	fmt.Fprintln(w, indent(n.repo.explain(e, f, file), "    "))
	return problems
}

// wrongFiles lists the plausible bugs, sorted.
func (r *Repo) wrongFiles(e Exercise) ([]string, error) {
	dir := e.Dir() + "/testdata/wrong"
	entries, err := os.ReadDir(r.Abs(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the wrong solutions of exercise %s: %w", e.ID, err)
	}
	var files []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".go") {
			files = append(files, path.Join(dir, entry.Name()))
		}
	}
	return files, nil
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
