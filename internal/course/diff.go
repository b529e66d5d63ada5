package course

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Diff shows the learner's file against the reference, once it is solved: the
// reference is the solution, and seeing it early spoils the exercise.
func (r *Repo) Diff(ctx context.Context, e Exercise, anyway bool, w io.Writer) error {
	if !r.has(e.Mine()) {
		return fmt.Errorf("you haven't started exercise %s: `make exercise-%s` sets it up", e.ID(), e.ID())
	}
	if !anyway {
		n, err := r.newRunner(ctx)
		if err != nil {
			return err
		}
		mine, err := r.learner(e)
		if err != nil {
			return err
		}
		var f gotest.Failure
		r.announce(w, n.compiling(e), func() { f, err = n.cached(ctx, e, mine) })
		if err != nil {
			return err
		}
		if f.Status != gotest.Passed {
			return fmt.Errorf("exercise %s isn't solved yet, and the reference is its solution: run `make exercise-%s`, or see it with `make diff-%s ANYWAY=1`", e.ID(), e.ID(), e.ID())
		}
	}
	mine, err := r.read(e.Mine())
	if err != nil {
		return fmt.Errorf("comparing exercise %s: %w", e.ID(), err)
	}
	reference, err := r.read(e.Replaces)
	if err != nil {
		return fmt.Errorf("comparing exercise %s: %w", e.ID(), err)
	}
	text := unified(e.Mine(), e.Replaces+" (the reference)", string(mine), string(reference))
	if text == "" {
		text = "your file and the reference are the same\n"
	}
	_, err = io.WriteString(w, text)
	return err
}

// unified is a unified diff; empty when the texts are equal.
func unified(nameA, nameB, textA, textB string) string {
	text := string(diff.Diff(nameA, []byte(textA), nameB, []byte(textB)))
	_, text, _ = strings.Cut(text, "\n") // its first line names a command that nobody ran
	return text
}
