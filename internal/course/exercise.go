package course

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Exercise is one exercise: its front matter, its text, and where it is.
type Exercise struct {
	Number int    `json:"-"` // that of its chapter
	Name   string `json:"-"` // "01-resume"
	ID     string `json:"-"` // the shortest name: "1", or "01-resume" if the chapter has several
	Task   string `json:"-"` // the text up to the first hint
	Hints  []Hint `json:"-"`

	Title    string     `json:"title"`
	Chapter  int        `json:"chapter"`
	Replaces string     `json:"replaces"` // the reference file, which is the solution
	Function StringList `json:"function"` // what the learner is to write
	Without  StringList `json:"without"`  // helpers that the stub leaves out: the learner may need others
	Run      RunSpec    `json:"run"`
	Reads    StringList `json:"reads"` // where to read

	hide []string // of a file of mini: those that come after it
}

// Hint is one stage of help: the section "## Hint 1" and so on.
type Hint struct{ Title, Text string }

// RunSpec says which tests judge an exercise. In YAML it is either the regular
// expression alone or both fields.
type RunSpec struct {
	Packages []string `json:"packages"` // ./informer; default: the package of Replaces
	Tests    string   `json:"tests"`    // as for go test -run; default: all
	Race     bool     `json:"race"`     // with the race detector, if there is a C compiler
}

// UnmarshalJSON accepts the short form.
func (s *RunSpec) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &s.Tests)
	}
	type plain RunSpec
	return json.Unmarshal(text, (*plain)(s))
}

// StringList is a list that may be written as a single string.
type StringList []string

// UnmarshalJSON accepts the short form.
func (l *StringList) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*l = make(StringList, 1)
		return json.Unmarshal(text, &(*l)[0])
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// Dir is "exercises/01-resume".
func (e Exercise) Dir() string { return "exercises/" + e.Name }

// Beginning holds functions of the stub that are written by hand; it need not
// exist. The others are those of the reference, emptied.
func (e Exercise) Beginning() string { return path.Join(e.Dir(), path.Base(e.Replaces)) }

// Mine is the learner's own file.
func (e Exercise) Mine() string { return e.in(myDir) }

// myDir is where the learner of this checkout works.
const myDir = "my"

// in is the learner's file in a directory that holds what my/ does.
func (e Exercise) in(home string) string { return path.Join(home, e.Name, path.Base(e.Replaces)) }

// Exercises reads every exercise, in order. Like Chapters, it returns what is
// wrong with single ones next to the good ones.
func (r *Repo) Exercises() ([]Exercise, Problems, error) {
	names, err := r.numbered("exercises")
	if err != nil {
		return nil, nil, err
	}
	var exercises []Exercise
	var problems Problems
	for _, name := range names {
		e := Exercise{Name: name, Number: numberOf(name)}
		body, err := r.readFrontMatter(e.Dir()+"/README.md", &e)
		if err != nil {
			problems.add("%v", err)
			continue
		}
		e.Task, e.Hints = splitHints(body)
		if len(e.Run.Packages) == 0 {
			e.Run.Packages = []string{"./" + path.Dir(e.Replaces)}
		}
		exercises = append(exercises, e)
	}
	giveIDs(exercises)
	if err := r.sortAsTaught(exercises); err != nil {
		return nil, nil, err
	}
	return exercises, problems, nil
}

// AllExercises are those of the chapters and those of the book about mini.
func (r *Repo) AllExercises() ([]Exercise, Problems, error) {
	exercises, problems, err := r.Exercises()
	if err != nil {
		return nil, nil, err
	}
	ofMini, more, err := r.miniExercises()
	return append(exercises, ofMini...), append(problems, more...), err
}

// sortAsTaught puts the exercises of a chapter into the order in which its front
// matter lists them.
func (r *Repo) sortAsTaught(exercises []Exercise) error {
	chapters, _, err := r.Chapters() // what is wrong with them is reported by others
	if err != nil {
		return err
	}
	place := map[string]int{}
	for _, c := range chapters {
		for i, name := range c.Exercises {
			place[name] = i
		}
	}
	slices.SortStableFunc(exercises, func(a, b Exercise) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(place[a.Name], place[b.Name]))
	})
	return nil
}

// giveIDs decides by what name a reader calls each exercise.
func giveIDs(exercises []Exercise) {
	count := map[int]int{}
	for _, e := range exercises {
		count[e.Number]++
	}
	for i, e := range exercises {
		exercises[i].ID = fmt.Sprint(e.Number)
		if count[e.Number] > 1 {
			exercises[i].ID = e.Name
		}
	}
}

// splitHints cuts the text at the headings that begin with "## Hint". A hint
// ends where the next heading of that level begins.
func splitHints(body string) (task string, hints []Hint) {
	var text strings.Builder
	inHint := false
	flush := func() {
		if inHint {
			hints[len(hints)-1].Text = strings.TrimSpace(text.String())
		} else {
			task += text.String()
		}
		text.Reset()
	}
	for line := range strings.Lines(body) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			flush()
			if inHint = strings.HasPrefix(title, "Hint"); inHint {
				hints = append(hints, Hint{Title: strings.TrimSpace(title)})
				continue
			}
		}
		text.WriteString(line)
	}
	flush()
	task = strings.TrimSpace(task)
	// The front matter has the title already.
	if title, rest, ok := strings.Cut(task, "\n"); ok && strings.HasPrefix(title, "# ") {
		task = strings.TrimSpace(rest)
	}
	return task, hints
}

// FindExercises returns the exercises that a reader means: by "3", all of chapter 3; by
// "03-backoff", the one of that name. If there is none, the error lists those
// that there are.
func (r *Repo) FindExercises(name string) ([]Exercise, error) {
	exercises, problems, err := r.AllExercises()
	if err != nil {
		return nil, err
	}
	digits, ofMini := strings.CutPrefix(name, miniPrefix)
	digits, rest, named := strings.Cut(digits, "-")
	number, err := strconv.Atoi(digits)
	if err != nil {
		return nil, fmt.Errorf("%q is no exercise: give its chapter's number, or its name", name)
	}
	var found []Exercise
	t := table{header: []string{"", "exercise", "chapter"}}
	for _, e := range exercises {
		_, ending, _ := strings.Cut(e.Name, "-")
		if e.ofMini() == ofMini && e.Number == number && (!named || ending == rest) {
			found = append(found, e)
		}
		t.add(e.ID, e.Title, fmt.Sprint(e.Chapter))
	}
	if len(found) > 0 {
		return found, nil
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is no exercise %s; the exercises are:\n\n%s", name, t)
}

// One insists that a name means one exercise.
func One(name string, found []Exercise) (Exercise, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	names := make([]string, 0, len(found))
	for _, e := range found {
		names = append(names, e.ID)
	}
	return Exercise{}, fmt.Errorf("chapter %s has several exercises: name one of %s", name, strings.Join(names, ", "))
}

// Next is the first exercise that is not solved yet, or the last one if all are.
func (r *Repo) Next(ctx context.Context, found []Exercise) (Exercise, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return Exercise{}, err
	}
	for _, e := range found {
		if !r.has(e.Mine()) {
			return e, nil
		}
		mine, err := r.learner(e)
		if err != nil {
			return e, err
		}
		f, err := n.cached(ctx, e, mine)
		if err != nil || f.Status != Passed {
			return e, err
		}
	}
	return found[len(found)-1], nil
}

// checkExercises proves that chapters and exercises name each other, and that
// all files of an exercise are there.
func (r *Repo) checkExercises(chapters []Chapter, exercises []Exercise, owners Ownership) Problems {
	var problems Problems
	chapterOf := map[string]int{}
	for _, c := range chapters {
		for _, name := range c.Exercises {
			chapterOf[name] = c.Number
			if !r.has("exercises/" + name + "/README.md") {
				problems.add("%s/README.md lists the exercise %s, but exercises/%s/README.md does not exist", c.Dir, name, name)
			}
		}
	}
	for _, e := range exercises {
		if e.ofMini() {
			problems = append(problems, r.checkParts(e)...)
			continue
		}
		readme := e.Dir() + "/README.md"
		if e.Number != e.Chapter {
			problems.add("%s says chapter %d: name the directory exercises/%02d-...", readme, e.Chapter, e.Chapter)
		}
		if chapterOf[e.Name] != e.Chapter {
			problems.add("%s says chapter %d, but that chapter's front matter does not list %s under exercises", readme, e.Chapter, e.Name)
		}
		owner, ok := owners[e.Replaces]
		if !ok && !r.has(e.Replaces) { // a file that is there has an owner, or was reported for having none
			problems.add("%s replaces %q, which does not exist: the overlay would be ignored silently", readme, e.Replaces)
		} else if owner > e.Chapter {
			problems.add("%s replaces %s, which comes only in chapter %d: the exercise belongs to that chapter", readme, e.Replaces, owner)
		}
		if r.has(e.Replaces) {
			problems = append(problems, r.checkParts(e)...)
		}
		if len(e.Function) == 0 || len(e.Reads) == 0 || len(e.Hints) == 0 {
			problems.add("%s needs function: and reads: in its front matter, and a section \"## Hint 1\": a learner who is stuck sees all three", readme)
		}
		for _, read := range e.Reads {
			file, _, _ := strings.Cut(read, "#")
			if file, _, _ = strings.Cut(file, ","); strings.Contains(file, "/") && !strings.Contains(file, "://") && !r.has(strings.TrimSpace(file)) {
				problems.add("%s reads %s, which does not exist", readme, file)
			}
		}
	}
	return problems
}
