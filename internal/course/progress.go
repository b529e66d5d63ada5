package course

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Progress prints a table of the written chapters and their exercises. What is
// done is found by running the tests; results are remembered until something
// that they depend on changes.
func (r *Repo) Progress(ctx context.Context, w, status io.Writer) error {
	chapters, err := r.written()
	if err != nil {
		return err
	}
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	t := table{header: []string{"chapter", "exercise", "state", ""}}
	solved, found, further := 0, 0, 0
	for _, c := range chapters {
		title := fmt.Sprintf("%2d %s", c.Number, c.Title)
		rows := len(t.rows)
		for _, e := range exercises {
			if e.Number != c.Number {
				continue
			}
			found += r.readHunt(e.hunted()).Found
			state, note, err := n.progress(ctx, e, status)
			if err != nil {
				return err
			}
			if state == "done" {
				solved++
			}
			if note == wentFurther {
				further++
			}
			t.add(title, e.Title, state, note)
			title = ""
		}
		if len(t.rows) == rows {
			t.add(title, "", "no exercise", "")
		}
	}
	fmt.Fprintf(w, "%s\n%d of %d exercises done\n", t, solved, len(exercises))
	if found > 0 {
		fmt.Fprintf(w, "planted mistakes found: %d\n", found)
	}
	if further > 0 {
		fmt.Fprintf(w, "%s: %d\n", wentFurther, further)
	}
	return nil
}

const wentFurther = "went further"

func (n *runner) progress(ctx context.Context, e Exercise, status io.Writer) (state, note string, err error) {
	if !n.repo.has(e.Mine()) {
		return "not started", fmt.Sprintf("make exercise-%s", e.ID()), nil
	}
	same, err := n.repo.untouched(e)
	if err != nil {
		return "", "", err
	}
	if same {
		return "begun", "still the stub: edit " + e.Mine(), nil
	}
	reference, err := n.repo.read(e.Replaces)
	if err != nil {
		return "", "", err
	}
	file, err := n.repo.read(e.Mine())
	if err != nil {
		return "", "", err
	}
	if bytes.Equal(file, reference) {
		return "reference", fmt.Sprintf("make reset-%s gives you the stub", e.ID()), nil
	}
	fmt.Fprintf(status, "checking exercise %d ...\n", e.Number)
	mine, err := n.repo.learner(e)
	if err != nil {
		return "", "", err
	}
	f, err := n.cached(ctx, e, mine)
	if err != nil {
		return "", "", err
	}
	if f.Status == gotest.Passed {
		if further, err := n.wentFurther(ctx, e, mine); err != nil || !further {
			return "done", "", err
		}
		return "done", wentFurther, nil
	}
	note = string(f.Status)
	if f.Test != "" {
		note += ": " + sentence(f.Test)
	}
	return "not yet", note, nil
}
