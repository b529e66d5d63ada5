package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/loopwright/loopwright/internal/course/splice"
)

// class judges the solutions of several learners.
type class struct {
	n        *runner
	homes    []learnerHome
	verdicts map[string][]verdict // by exercise; in the order of homes
}

// verdict is what a table says about one solution.
type verdict struct {
	state string
	note  string // what does not hold, or what the compiler says; empty where there is nothing to say
}

const (
	notBegun = "not begun"
	solved   = "solved"
	notYet   = "not yet"
	filledIn = "filled in" // with the reference, by make catch-up or make solve
)

func verdictOf(f Failure) verdict {
	switch f.Status {
	case Passed:
		return verdict{state: solved}
	case NoCompile:
		first, _, _ := strings.Cut(strings.TrimSpace(f.Detail), "\n")
		return verdict{string(NoCompile), path.Base(first)}
	}
	note := string(f.Status)
	if f.Test != "" {
		note = fmt.Sprintf("%q does not hold", sentence(f.Test))
		if f.Status != Failing {
			note += ": the code " + string(f.Status)
		}
	}
	return verdict{notYet, note}
}

// judge finds the verdicts on one exercise. Those who have written the same are judged once.
func (c *class) judge(ctx context.Context, e Exercise, status io.Writer) error {
	verdicts := make([]verdict, len(c.homes))
	c.verdicts[e.Name] = verdicts
	var unknown []solution
	same := map[string][]int{} // who has the same solution, by its text
	for i, home := range c.homes {
		s, v, err := c.look(e, home.dir)
		if err != nil {
			return fmt.Errorf("exercise %s of %s: %w", e.ID(), home.name, err)
		}
		verdicts[i] = v
		if v.state != "" {
			continue
		}
		if len(same[string(s.content)]) == 0 {
			unknown = append(unknown, s)
		}
		same[string(s.content)] = append(same[string(s.content)], i)
	}
	if len(unknown) == 0 {
		return nil
	}
	fmt.Fprintf(status, "exercise %s: %d solutions to judge ...\n", e.ID(), len(unknown))
	found, err := c.n.judgeLearners(ctx, e, unknown)
	if err != nil {
		return fmt.Errorf("exercise %s: %w", e.ID(), err)
	}
	for k, s := range unknown {
		for _, i := range same[string(s.content)] {
			verdicts[i] = verdictOf(found[k])
		}
	}
	return nil
}

// look returns a verdict if it is known already, and otherwise what has to be judged.
func (c *class) look(e Exercise, home string) (solution, verdict, error) {
	r := c.n.repo
	if !r.has(e.in(home)) {
		return solution{}, verdict{state: notBegun}, nil
	}
	stub, err := r.isStub(e.in(home), e)
	if err != nil || stub {
		return solution{}, verdict{state: notBegun}, err
	}
	if given, err := r.isReference(e.in(home), e); err != nil || given {
		return solution{}, verdict{state: filledIn}, err
	}
	s, err := r.learnerIn(home, e)
	if err != nil { // a file of the learner's that cannot be compiled with the package
		return solution{}, verdict{string(NoCompile), strings.ReplaceAll(err.Error(), home+"/", "")}, nil
	}
	f, known, err := c.n.recall(e, s)
	if err != nil || !known {
		return s, verdict{}, err
	}
	return s, verdictOf(f), nil
}

// judgeLearners judges those that compile with one test binary. The others, and those that pass, are
// compiled on their own, as on a learner's machine.
func (n *runner) judgeLearners(ctx context.Context, e Exercise, all []solution) ([]Failure, error) {
	verdicts := make([]Failure, len(all))
	b := &batch{n: n, e: e}
	var places []int
	for i, s := range all {
		patch, ok, err := n.asPatch(ctx, e, s)
		if err != nil {
			return nil, err
		}
		if ok {
			b.all, places = append(b.all, patch), append(places, i)
		}
	}
	if len(b.all) > 1 {
		found, _, err := b.together(ctx)
		if err != nil {
			return nil, err
		}
		for k, i := range places {
			verdicts[i] = found[k]
		}
	}
	for i, s := range all {
		before, err := n.resultFile(e, s)
		if err == nil && (verdicts[i].Status == "" || !verdicts[i].decided()) {
			verdicts[i], err = n.run(ctx, e, s) // which remembers it
		} else if err == nil {
			err = n.remember(e, s, verdicts[i], before)
		}
		if err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// asPatch is a learner's solution as a patch of the reference, if it can be one: a single file that compiles in the
// reference's place.
func (n *runner) asPatch(ctx context.Context, e Exercise, s solution) (solution, bool, error) {
	if len(s.extra) > 0 {
		return solution{}, false, nil
	}
	base, err := n.repo.parse(e.Replaces)
	if err != nil {
		return solution{}, false, err
	}
	file, err := n.repo.parse(s.file)
	if err != nil { // the compiler says it better
		return solution{}, false, nil
	}
	instead, err := s.overlay(n.repo, e)
	if err != nil {
		return solution{}, false, nil
	}
	overlay := hide(e.hidden)
	for from, to := range instead {
		overlay[from] = to
	}
	overlayFile, done, err := overlay.write(n.repo, nil)
	if err != nil {
		return solution{}, false, err
	}
	defer done()
	_, err = n.repo.goOutput(ctx, "vet", "-overlay="+overlayFile, "./"+path.Dir(e.Replaces))
	if ctx.Err() != nil {
		return solution{}, false, context.Cause(ctx)
	}
	if err != nil {
		return solution{}, false, nil
	}
	s.patch = splice.Changed(base, file)
	return s, len(s.patch.Decls) > 0, nil
}

// report is the table, and what it has no room for.
func (c *class) report(exercises []Exercise) string {
	t := table{header: []string{"learner"}}
	var shown []Exercise
	for _, e := range exercises {
		begun := false
		for _, v := range c.verdicts[e.Name] {
			begun = begun || v.state != notBegun
		}
		if begun {
			shown = append(shown, e)
			t.header = append(t.header, e.ID())
		}
	}
	t.header = append(t.header, "solved")
	var notes strings.Builder
	for i, home := range c.homes {
		row, count := []string{home.name}, 0
		for _, e := range shown {
			v := c.verdicts[e.Name][i]
			row = append(row, v.state)
			if v.state == solved {
				count++
			}
			if v.note != "" {
				fmt.Fprintf(&notes, "%s, %s: %s\n", home.name, e.ID(), v.note)
			}
		}
		t.add(append(row, fmt.Sprint(count))...)
	}
	text := t.String()
	if notes.Len() > 0 {
		text += "\n" + notes.String()
	}
	if left := len(exercises) - len(shown); left > 0 {
		text += fmt.Sprintf("\nNobody has begun any of the other %d exercises.\n", left)
	}
	return text
}
