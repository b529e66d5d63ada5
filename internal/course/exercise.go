package course

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Exercise is one exercise: its front matter, its text, and where it is.
type Exercise struct {
	Number int    `json:"-"`
	Name   string `json:"-"` // "01-resume"
	Task   string `json:"-"` // the text up to the first hint
	Hints  []Hint `json:"-"`

	Title    string     `json:"title"`
	Chapter  int        `json:"chapter"`
	Replaces string     `json:"replaces"` // the reference file, which is the solution
	Function StringList `json:"function"` // what the learner is to write
	Run      RunSpec    `json:"run"`
	Reads    StringList `json:"reads"` // where to read
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

// Stub is what a learner starts from.
func (e Exercise) Stub() string { return path.Join(e.Dir(), path.Base(e.Replaces)) }

// Mine is the learner's own file.
func (e Exercise) Mine() string { return path.Join("my", e.Name, path.Base(e.Replaces)) }

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
	return exercises, problems, nil
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

// Exercise returns the exercise with that number, or an error that lists those
// that there are.
func (r *Repo) Exercise(number int) (Exercise, error) {
	exercises, problems, err := r.Exercises()
	if err != nil {
		return Exercise{}, err
	}
	t := table{header: []string{"", "exercise", "chapter"}}
	for _, e := range exercises {
		if e.Number == number {
			return e, nil
		}
		t.add(fmt.Sprintf("%2d", e.Number), e.Title, fmt.Sprint(e.Chapter))
	}
	if err := problems.Err(); err != nil {
		return Exercise{}, err
	}
	return Exercise{}, fmt.Errorf("there is no exercise %d; the exercises are:\n\n%s", number, t)
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
		readme := e.Dir() + "/README.md"
		if chapterOf[e.Name] != e.Chapter {
			problems.add("%s says chapter %d, but that chapter's front matter does not list %s under exercises", readme, e.Chapter, e.Name)
		}
		owner, ok := owners[e.Replaces]
		if !ok && !r.has(e.Replaces) { // a file that is there has an owner, or was reported for having none
			problems.add("%s replaces %q, which does not exist: the overlay would be ignored silently", readme, e.Replaces)
		} else if owner > e.Chapter {
			problems.add("%s replaces %s, which comes only in chapter %d: the exercise belongs to that chapter", readme, e.Replaces, owner)
		}
		if !r.has(e.Stub()) {
			problems.add("%s replaces %s, so there must be a stub at %s", readme, e.Replaces, e.Stub())
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
