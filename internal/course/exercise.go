package course

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// Exercise is to write the file of mini that a chapter builds. The tests of the file lead from
// step to step, in their order. They run on mini without the files of later chapters.
type Exercise struct {
	Number int    `json:"-"` // that of its chapter
	Name   string `json:"-"` // "06-queue", as the chapter's directory
	Task   string `json:"-"` // the text without the hints and what goes further
	Hints  []Hint `json:"-"`

	Further string `json:"-"` // the task for those who have solved it

	Title    string   // "write queue.go"
	Replaces string   // the reference file, which is the solution
	Function []string // what the learner is to write
	Tests    []string // of the file, in their order
	Race     bool     // with the race detector, if there is a C compiler

	hidden []string // the files of mini that come later
	suffix string   // of the learner's directory: "-bug" for a hunt
	base   string   // what stands in for Replaces where the exercise goes further
	more   Overlay  // and its test
}

// Hint is one stage of help: the fold "Hint 1" and so on.
type Hint struct{ Title, Text string }

// ID is how a reader calls the exercise.
func (e Exercise) ID() string { return fmt.Sprint(e.Number) }

// Dir has the task and the mistakes.
func (e Exercise) Dir() string { return path.Join(exercisesDir, e.Name) }

// Text is the task, with its hints.
func (e Exercise) Text() string { return path.Join(e.Dir(), "README.md") }

// Chapter is the directory of the chapter that builds the file.
func (e Exercise) Chapter() string { return path.Join(chaptersDir, e.Name) }

// Reads is where to read what the exercise needs.
func (e Exercise) Reads() string { return path.Join(e.Chapter(), "README.md") }

// Mine is the learner's own file.
func (e Exercise) Mine() string { return e.in(myDir) }

const (
	exercisesDir = "exercises"
	myDir        = "my" // where the learner of this checkout works
	miniPackage  = "./" + miniDir
	maxWrong     = 12 // mistakes: those that people make
)

// in is the learner's file in a directory that holds what my/ does.
func (e Exercise) in(home string) string {
	return path.Join(home, e.Name+e.suffix, path.Base(e.Replaces))
}

// reference is the file that the others are compared with.
func (e Exercise) reference() string { return cmp.Or(e.base, e.Replaces) }

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
	if e.Tests, err = r.testsIn(strings.TrimSuffix(c.File, ".go") + "_test.go"); err != nil {
		return e, fmt.Errorf("reading the tests of %s: %w", c.File, err)
	}
	if e.hidden, err = r.laterThan(c.File); err != nil {
		return e, err
	}
	task, err := r.read(e.Text())
	if err != nil {
		return e, fmt.Errorf("it has no task: %w", err)
	}
	text, further, _ := strings.Cut(string(task), "\n"+furtherTitle)
	e.Task, e.Hints = splitHints(text)
	e.Further = strings.TrimSpace(further)
	return e, nil
}

// allExercises insists that nothing's wrong with them.
func (r *Repo) allExercises() ([]Exercise, error) {
	exercises, problems, err := r.Exercises()
	if err != nil {
		return nil, err
	}
	return exercises, problems.Err()
}

// testsIn lists the tests of a file in their order. In mini, that is the order of the steps.
func (r *Repo) testsIn(file string) (tests []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), r.Abs(file), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	return tests, nil
}

// hintFold is a hint, in a fold: one that's in sight is read.
var hintFold = regexp.MustCompile(`(?ms)^<details>\n<summary>(Hint [^<\n]*)</summary>\n(.*?)^</details>\n?`)

// splitHints takes the hints out of the text.
func splitHints(body string) (task string, hints []Hint) {
	for _, m := range hintFold.FindAllStringSubmatch(body, -1) {
		hints = append(hints, Hint{Title: m[1], Text: strings.TrimSpace(m[2])})
	}
	task = hintFold.ReplaceAllString(body, "")
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
