package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Exercise is to write the file of mini that a chapter builds. The tests of the file lead from
// step to step, in their order. They run on mini without the files of later chapters.
type Exercise struct {
	Number int    `json:"-"` // that of its chapter
	Name   string `json:"-"` // "06-queue", as the chapter's directory
	Task   string `json:"-"` // the text up to the first hint
	Hints  []Hint `json:"-"`

	Title    string   // "write queue.go"
	Replaces string   // the reference file, which is the solution
	Function []string // what the learner is to write
	Tests    []string // of the file, in their order
	Race     bool     // with the race detector, if there is a C compiler

	hidden []string // the files of mini that come later
}

// Hint is one stage of help: the section "## Hint 1" and so on.
type Hint struct{ Title, Text string }

// ID is how a reader calls the exercise.
func (e Exercise) ID() string { return fmt.Sprint(e.Number) }

// Dir is that of the chapter.
func (e Exercise) Dir() string { return path.Join(chaptersDir, e.Name) }

// Reads is where to read what the exercise needs.
func (e Exercise) Reads() string { return path.Join(e.Dir(), "README.md") }

// Mine is the learner's own file.
func (e Exercise) Mine() string { return e.in(myDir) }

const (
	exerciseText = "exercise.md"
	myDir        = "my" // where the learner of this checkout works
	miniPackage  = "./" + miniDir
	maxWrong     = 12 // mistakes: those that people make
)

// in is the learner's file in a directory that holds what my/ does.
func (e Exercise) in(home string) string { return path.Join(home, e.Name, path.Base(e.Replaces)) }

// run is the regular expression that go test takes.
func (e Exercise) run() string { return "^(" + strings.Join(e.Tests, "|") + ")$" }

// Exercises makes an exercise of each chapter that asks for one. Like Chapters, it returns what
// is wrong with single ones next to the good ones.
func (r *Repo) Exercises() (exercises []Exercise, problems Problems, err error) {
	chapters, _, err := r.Chapters() // what is wrong with them is reported by others
	if err != nil {
		return nil, nil, err
	}
	for _, c := range chapters {
		if len(c.Exercise.Write) == 0 {
			continue
		}
		e, err := r.exercise(c)
		if err != nil {
			problems.add("exercise %d: %v", c.Number, err)
			continue
		}
		exercises = append(exercises, e)
	}
	return exercises, problems, nil
}

func (r *Repo) exercise(c Chapter) (e Exercise, err error) {
	e = Exercise{
		Number: c.Number, Name: path.Base(c.Dir), Title: "write " + path.Base(c.File),
		Replaces: c.File, Function: c.Exercise.Write, Race: c.Exercise.Race,
	}
	if e.Tests, err = r.testsOf(c.File); err != nil {
		return e, err
	}
	if e.hidden, err = r.laterThan(c.File); err != nil {
		return e, err
	}
	task, err := r.read(path.Join(c.Dir, exerciseText))
	if err != nil {
		return e, fmt.Errorf("it has no task: %w", err)
	}
	e.Task, e.Hints = splitHints(string(task))
	return e, nil
}

// allExercises insists that all of them are in order.
func (r *Repo) allExercises() ([]Exercise, error) {
	exercises, problems, err := r.Exercises()
	if err != nil {
		return nil, err
	}
	return exercises, problems.Err()
}

// testsOf lists the tests of a file of mini in their order, which is that of the steps.
func (r *Repo) testsOf(file string) (tests []string, err error) {
	name := strings.TrimSuffix(file, ".go") + "_test.go"
	parsed, err := parser.ParseFile(token.NewFileSet(), r.Abs(name), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading the tests of %s: %w", file, err)
	}
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	return tests, nil
}

// steps is how many of the tests have passed before the first that has not.
func (e Exercise) steps(f Failure) int {
	name, _, _ := strings.Cut(f.Test, "/")
	return max(0, slices.Index(e.Tests, name))
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
	// The title is shown already.
	if title, rest, ok := strings.Cut(task, "\n"); ok && strings.HasPrefix(title, "# ") {
		task = strings.TrimSpace(rest)
	}
	return task, hints
}

// FindExercise returns the exercise that a reader means by "6", "06" or "06-queue". If there is
// none, the error lists those that there are.
func (r *Repo) FindExercise(name string) (Exercise, error) {
	exercises, problems, err := r.Exercises()
	if err != nil {
		return Exercise{}, err
	}
	t := table{header: []string{"", "exercise"}}
	for _, e := range exercises {
		if name == e.Name || name == e.ID() || name == fmt.Sprintf("%02d", e.Number) {
			return e, nil
		}
		t.add(e.ID(), e.Title)
	}
	if err := problems.Err(); err != nil {
		return Exercise{}, err
	}
	if c, err := r.FindChapter(name); err == nil {
		return Exercise{}, fmt.Errorf("chapter %d has no exercise; the exercises are:\n\n%s", c.Number, t)
	}
	return Exercise{}, fmt.Errorf("there is no exercise %q; the exercises are:\n\n%s", name, t)
}

// wrongFiles writes the mistakes of wrong.txtar to files, and lists these.
func (r *Repo) wrongFiles(e Exercise) (files []string, err error) {
	name := path.Join(e.Dir(), "wrong.txtar")
	text, err := r.read(name)
	if err != nil {
		return nil, fmt.Errorf("reading the mistakes of exercise %d: %w", e.Number, err)
	}
	archive := txtar.Parse(text)
	if n := len(archive.Files); n > maxWrong {
		return nil, fmt.Errorf("%s has %d mistakes: keep the %d that people make most", name, n, maxWrong)
	}
	for _, f := range archive.Files {
		file := path.Join(stateDir, "wrong", e.Name, f.Name)
		if err := r.writeState(file, f.Data); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
