package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Try is `course exercise N`: set up the learner's file on first use, run the
// tests on it, and say in plain words what to do next. verbose shows what go
// test prints, too.
func (r *Repo) Try(ctx context.Context, e Exercise, verbose bool, w io.Writer) (solved bool, err error) {
	created, err := r.Setup(e)
	if err != nil {
		return false, err
	}
	return r.try(ctx, e, tryOptions{created: created, verbose: verbose}, w)
}

// afterwards is what somebody does who has solved an exercise before the others.
func (r *Repo) afterwards(e Exercise) (string, error) {
	exercises, err := r.allExercises()
	if err != nil {
		return "", err
	}
	var all []string
	if e.Further != "" {
		all = append(all, fmt.Sprintf("`make further-%s` goes further", e.ID()))
	}
	for _, other := range exercises {
		if other.Number > e.Number {
			all = append(all, fmt.Sprintf("`make exercise-%s` is the next one", other.ID()))
			break
		}
	}
	if library := path.Join(e.Chapter(), "library.md"); r.has(library) {
		all = append(all, library+" says what the library adds")
	}
	return gotest.EndSentence(list(all, "and")), nil
}

// announce says what is being done, if it takes so long that a learner wonders.
func (r *Repo) announce(w io.Writer, what string, do func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(r.patience, func() {
		defer close(said)
		fmt.Fprint(w, what)
	})
	do()
	if !timer.Stop() {
		<-said
	}
}

// tryOptions is what try tells the learner besides the result.
type tryOptions struct {
	created  bool // the file is new, so the task is shown
	watching bool // the tests run again by themselves
	verbose  bool
}

func (r *Repo) try(ctx context.Context, e Exercise, options tryOptions, w io.Writer) (solved bool, err error) {
	fmt.Fprintf(w, "exercise %s: write %s\n\n", e.ID(), e.Mine())
	if options.created {
		fmt.Fprintf(w, "%s\n\nYour file is %s.\nIt's a stub: it compiles, but its tests fail.\n\n", e.Task, e.Mine())
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return false, err
	}
	f, err := n.tryMine(ctx, e, options.verbose, w)
	if err != nil {
		return false, err
	}
	if f.Status == gotest.Passed {
		given, err := r.isReference(e.Mine(), e)
		if err != nil {
			return false, err
		}
		if given {
			fmt.Fprintf(w, "%s is the reference, which was filled in: all tests pass.\nNext: `make reset-%d` gives you the stub, so you can write it yourself.\n", e.Mine(), e.Number)
			return true, nil
		}
		fmt.Fprintf(w, "Solved: all tests pass on %s.\n", e.Mine())
		fmt.Fprintf(w, "Next: `make diff-%d` compares it with the reference,\n`make chapter-%d MINE=1` runs the chapter's program on it (XRAY=1 in a browser, too).\n", e.Number, e.Number)
		after, err := r.afterwards(e)
		if after != "" {
			fmt.Fprintln(w, wrap("Time left? "+after, 80))
		}
		return true, err
	}
	next := fmt.Sprintf("edit %s and run `make exercise-%d` again.", e.Mine(), e.Number)
	if options.watching {
		next = fmt.Sprintf("edit %s and save it.", e.Mine())
	}
	r.tell(e, f, next, w)
	fmt.Fprintln(w, r.hintOffer(e))
	return false, nil
}

// tryMine runs the tests on the learner's file, and shows what that has printed.
func (n *runner) tryMine(ctx context.Context, e Exercise, verbose bool, w io.Writer) (f gotest.Failure, err error) {
	if verbose {
		n.raw = w
	}
	if err := n.linkPackage(e); err != nil {
		return f, err
	}
	mine, err := n.repo.learner(e)
	if err != nil {
		return f, err
	}
	n.repo.announce(w, n.compiling(e), func() { f, err = n.run(ctx, e, mine) })
	if err == nil && f.Printed != "" && !verbose {
		fmt.Fprintf(w, "Your code printed:\n\n%s\n\n", indent(f.Printed, "    "))
	}
	return f, err
}

// tell says how far the learner has come, what is wrong, and what to do next.
func (r *Repo) tell(e Exercise, f gotest.Failure, next string, w io.Writer) {
	if count := e.count(f, r.stillEmpty(e, e.Mine())); count != "" {
		fmt.Fprintf(w, "%s\n\n", wrap(count, 80))
	}
	fmt.Fprintf(w, "%s\n\n", e.withLinks(r.explain(e, f, e.Mine())))
	if others := others(f); others != "" {
		fmt.Fprintf(w, "%s\n\n", wrap(others, 80))
	}
	fmt.Fprintf(w, "Next: %s\n", next)
}
