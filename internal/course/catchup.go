package course

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Solve puts the reference in the place of the learner's file, which is kept under another name.
func (r *Repo) Solve(e Exercise, w io.Writer) error {
	kept, err := r.keep(e)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintln(w, "your work is kept in", kept)
	}
	reference, err := r.read(e.Replaces)
	if err != nil {
		return fmt.Errorf("solving exercise %d: %w", e.Number, err)
	}
	mine := r.Abs(e.Mine())
	if err := os.MkdirAll(path.Dir(mine), 0o755); err != nil {
		return fmt.Errorf("solving exercise %d: %w", e.Number, err)
	}
	if err := os.WriteFile(mine, reference, 0o644); err != nil {
		return fmt.Errorf("solving exercise %d: %w", e.Number, err)
	}
	fmt.Fprintln(w, e.Mine(), "is the reference now")
	return nil
}

// CatchUp fills in the reference for each exercise before to that is not solved, and keeps what is.
func (r *Repo) CatchUp(ctx context.Context, to Exercise, w io.Writer) error {
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	for _, e := range exercises {
		if e.Number >= to.Number {
			break
		}
		isSolved, err := n.isSolved(ctx, e, w)
		if err != nil {
			return err
		}
		if isSolved {
			whose, err := r.whose(e)
			if err != nil {
				return err
			}
			fmt.Fprintln(w, e.Mine(), "stays:", whose)
			continue
		}
		if err := r.Solve(e, w); err != nil {
			return err
		}
	}
	return nil
}

// whose says who has written a solution that passes.
func (r *Repo) whose(e Exercise) (string, error) {
	given, err := r.isReference(e.Mine(), e)
	if given {
		return "it's the reference, which was filled in", err
	}
	return "you've solved it", err
}

func (n *runner) isSolved(ctx context.Context, e Exercise, w io.Writer) (bool, error) {
	if !n.repo.has(e.Mine()) {
		return false, nil
	}
	mine, err := n.repo.learner(e)
	if err != nil {
		return false, err
	}
	var f gotest.Failure
	n.repo.announce(w, n.compiling(e), func() { f, err = n.cached(ctx, e, mine) })
	return f.Status == gotest.Passed, err
}
