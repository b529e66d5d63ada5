package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loopwright/loopwright/internal/course/gotest"
	"github.com/loopwright/loopwright/internal/course/splice"
)

// class judges the solutions of several learners.
type class struct {
	n         *runner
	exercises []Exercise
	homes     []learnerHome
	leftOut   []string             // what cannot be judged, and why
	verdicts  map[string][]verdict // by exercise; in the order of homes
}

// verdict is what a table says about one solution.
type verdict struct {
	state string
	note  string // what does not hold, or what the compiler says; empty where there is nothing to say
}

const (
	notBegun = "not begun"
	solved   = "solved"
	notYet   = "not yet"   // where no test is known to have failed
	filledIn = "filled in" // with the reference, by make catch-up or make solve
)

func verdictOf(e Exercise, f gotest.Failure) verdict {
	switch f.Status {
	case gotest.Passed:
		return verdict{state: solved}
	case gotest.NoCompile:
		first, _, _ := strings.Cut(strings.TrimSpace(f.Detail), "\n")
		return verdict{string(gotest.NoCompile), path.Base(first)}
	}
	if f.Test == "" {
		return verdict{notYet, string(f.Status)}
	}
	note := fmt.Sprintf("%q isn't true", sentence(f.Test))
	if f.Status != gotest.Failing {
		note += ": the code " + string(f.Status)
	}
	return verdict{e.upTo(f.Passed), note}
}

// upTo says how many of the tests hold.
func (e Exercise) upTo(steps int) string { return fmt.Sprintf("%d of %d", steps, len(e.Tests)) }

// judge finds the verdicts on one exercise. Those who have written the same are judged once.
func (c *class) judge(ctx context.Context, e Exercise, status io.Writer) error {
	given, err := c.n.inputsOf(e)
	if err != nil {
		return err
	}
	verdicts := make([]verdict, len(c.homes))
	c.verdicts[e.Name] = verdicts
	var unknown []solution
	same := map[string][]int{} // who has the same solution, by its text
	for i, home := range c.homes {
		s, v, err := c.look(given, e, home.dir)
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
	solutions := "solutions"
	if len(unknown) == 1 {
		solutions = "solution"
	}
	fmt.Fprintf(status, "exercise %s: %d %s to judge ...\n", e.ID(), len(unknown), solutions)
	found, err := c.n.judgeLearners(ctx, e, unknown)
	if err != nil {
		return fmt.Errorf("exercise %s: %w", e.ID(), err)
	}
	for k, s := range unknown {
		for _, i := range same[string(s.content)] {
			verdicts[i] = verdictOf(e, found[k])
		}
	}
	return nil
}

// look returns a verdict if it is known already, and otherwise what has to be judged.
func (c *class) look(given inputs, e Exercise, home string) (solution, verdict, error) {
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
		return solution{}, verdict{string(gotest.NoCompile), strings.ReplaceAll(err.Error(), home+"/", "")}, nil
	}
	f, known, err := c.n.recall(given, e, s)
	if err != nil || !known {
		return s, verdict{}, err
	}
	return s, verdictOf(e, f), nil
}

// judgeLearners judges those that compile with one test binary. The others, and those that pass,
// are compiled on their own, as on a learner's machine.
func (n *runner) judgeLearners(ctx context.Context, e Exercise, all []solution) ([]gotest.Failure, error) {
	verdicts := make([]gotest.Failure, len(all))
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
	given, err := n.inputsOf(e)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		before, err := n.resultFile(given, e, s)
		if err == nil && (verdicts[i].Status == "" || !decided(verdicts[i])) {
			verdicts[i], err = n.run(ctx, e, s) // which remembers it
		} else if err == nil {
			err = n.remember(given, e, s, verdicts[i], before)
		}
		if err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// asPatch is a learner's solution as a patch of the reference, if it can be one: a single file that
// compiles in the reference's place.
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

// reportWidth is the columns that a report has at most: those of a projector in a large font.
const reportWidth = 100

// report is the table, and what it has no room for.
func (c *class) report() string {
	shown := c.begun()
	left := len(c.exercises) - len(shown)
	notes := c.notes(shown)
	var out strings.Builder
	for {
		n := len(shown)
		for n > 1 && widest(c.table(shown[:n]).String()) > reportWidth {
			n--
		}
		out.WriteString(c.table(shown[:n]).String())
		if shown = shown[n:]; len(shown) == 0 {
			break
		}
		out.WriteByte('\n')
	}
	for i, note := range append(notes, c.leftOut...) {
		if i == 0 {
			out.WriteByte('\n')
		}
		out.WriteString(strings.ReplaceAll(wrap(note, reportWidth-2), "\n", "\n  ") + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&out, "\nNobody has begun any of the other %d exercises.\n", left)
	}
	return out.String()
}

// begun are the exercises that somebody has begun.
func (c *class) begun() (shown []Exercise) {
	for _, e := range c.exercises {
		begun := func(v verdict) bool { return v.state != notBegun }
		if slices.ContainsFunc(c.verdicts[e.Name], begun) {
			shown = append(shown, e)
		}
	}
	return shown
}

// table has a row for each learner, and a column for each of the exercises. How many a learner has
// solved is counted over all of them.
func (c *class) table(exercises []Exercise) table {
	t := table{header: []string{"learner"}}
	for _, e := range exercises {
		t.header = append(t.header, e.ID())
	}
	t.header = append(t.header, "solved")
	for i, home := range c.homes {
		row := []string{shortened(home.name)}
		for _, e := range exercises {
			row = append(row, c.verdicts[e.Name][i].state)
		}
		count := 0
		for _, verdicts := range c.verdicts {
			if verdicts[i].state == solved {
				count++
			}
		}
		t.add(append(row, fmt.Sprint(count))...)
	}
	return t
}

// notes say what does not hold, learner by learner.
func (c *class) notes(exercises []Exercise) (notes []string) {
	for i, home := range c.homes {
		for _, e := range exercises {
			if v := c.verdicts[e.Name][i]; v.note != "" {
				notes = append(notes, fmt.Sprintf("%s, %s: %s", shortened(home.name), e.ID(), v.note))
			}
		}
	}
	return notes
}

// shortened is a name that leaves room in a row.
func shortened(name string) string {
	const most = 20
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return name
}

func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return columns
}
