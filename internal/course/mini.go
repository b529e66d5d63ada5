package course

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// The exercises of the book about mini: each is to write the file of its chapter. The tests of
// the file lead from step to step, in their order.

// miniPrefix is what the name of such an exercise begins with: m6, m06-queue.
const miniPrefix = "m"

// maxWrong is how many mistakes an exercise has at most: those that people make.
const maxWrong = 12

func (e Exercise) ofMini() bool { return path.Dir(e.Replaces) == "mini" }

// page is the directory of the chapter that an exercise of mini belongs to.
func (e Exercise) page() string { return path.Join(bookDir, strings.TrimPrefix(e.Name, miniPrefix)) }

// miniExercises makes an exercise of each page of the book that asks for one.
func (r *Repo) miniExercises() (exercises []Exercise, problems Problems, err error) {
	names, err := r.numbered(bookDir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		p, _, err := r.page(path.Join(bookDir, name))
		if err != nil || len(p.Exercise.Write) == 0 {
			continue // what is wrong with a page is reported by checkPages
		}
		e := Exercise{
			Number: numberOf(name), Name: miniPrefix + name, ID: fmt.Sprintf("%s%d", miniPrefix, numberOf(name)),
			Title: "write " + p.File, Chapter: numberOf(name), Replaces: p.File, Function: p.Exercise.Write,
			Reads: StringList{path.Join(bookDir, name, "README.md")},
		}
		tests, err := r.testsOf(e)
		if err == nil {
			e.hide, err = r.laterThan(p.File)
		}
		if err != nil {
			problems.add("exercise %s: %v", e.ID, err)
			continue
		}
		e.Run = RunSpec{Packages: []string{"./mini"}, Tests: "^(" + strings.Join(tests, "|") + ")$", Race: p.Exercise.Race}
		task, err := r.read(e.page() + "/exercise.md")
		if err != nil {
			problems.add("exercise %s has no task: %v", e.ID, err)
			continue
		}
		e.Task, e.Hints = splitHints(string(task))
		exercises = append(exercises, e)
	}
	return exercises, problems, nil
}

// testsOf lists the tests of an exercise's file in their order, which is that of the steps.
func (r *Repo) testsOf(e Exercise) (tests []string, err error) {
	name := strings.TrimSuffix(e.Replaces, ".go") + "_test.go"
	file, err := parser.ParseFile(token.NewFileSet(), r.Abs(name), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading the tests of %s: %w", e.Replaces, err)
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	return tests, nil
}

// steps returns how many of the tests have passed before the first that has not.
func (r *Repo) steps(e Exercise, f Failure) (passed, all int, err error) {
	tests, err := r.testsOf(e)
	if err != nil {
		return 0, 0, err
	}
	name, _, _ := strings.Cut(f.Test, "/")
	return max(0, slices.Index(tests, name)), len(tests), nil
}

// unpackWrong writes the mistakes of wrong.txtar to files, and lists these.
func (r *Repo) unpackWrong(e Exercise) (files []string, err error) {
	name := e.page() + "/wrong.txtar"
	text, err := r.read(name)
	if err != nil {
		return nil, fmt.Errorf("reading the mistakes of exercise %s: %w", e.ID, err)
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

// caughtByName proves that a mistake is caught by the test that it names.
func (n *runner) caughtByName(e Exercise, a attempt, f Failure) (problems Problems) {
	if a.name == stubName {
		return nil
	}
	test, _, _ := strings.Cut(f.Test, "/")
	want := ""
	for line := range strings.SplitSeq(string(a.content), "\n") {
		if name, ok := strings.CutPrefix(line, "// Caught by: "); ok {
			want = strings.TrimSpace(name)
		}
	}
	if test != want {
		problems.add("exercise %s: %s says that it is caught by %q, and %q catches it (%s)", e.ID, path.Base(a.name), want, test, f.Status)
	}
	return problems
}

// Play runs the program of a page of the book: the naive one, or with mine, on the learner's files.
func (r *Repo) Play(ctx context.Context, number int, naive, mine bool) (exitCode int, err error) {
	names, err := r.numbered(bookDir)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(names, func(name string) bool { return numberOf(name) == number })
	if at < 0 {
		return 0, fmt.Errorf("%s has no chapter %d yet", bookDir, number)
	}
	dir := path.Join(bookDir, names[at])
	if naive {
		dir += "/naive"
	}
	return r.playMini(ctx, dir, number, mine)
}

// PlayControllers runs all controllers of mini on the cluster of $KUBECONFIG.
func (r *Repo) PlayControllers(ctx context.Context, mine bool) (exitCode int, err error) {
	return r.playMini(ctx, "mini/cmd/mini", len(miniOrder), mine)
}

// playMini builds and runs a program on mini's files, of which those up to a chapter may be the learner's.
func (r *Repo) playMini(ctx context.Context, dir string, number int, mine bool) (exitCode int, err error) {
	binary := r.Abs(path.Join(stateDir, "play", path.Base(dir)))
	args := []string{"build", "-o", binary}
	if mine {
		overlay, err := r.learnersMini(number)
		if err != nil {
			return 0, err
		}
		file, done, err := overlay.write(r, nil)
		if err != nil {
			return 0, err
		}
		defer done()
		args = append(args, "-overlay="+file)
	}
	if _, err := r.goOutput(ctx, append(args, "./"+dir)...); err != nil {
		return 0, fmt.Errorf("building %s: %w", dir, err)
	}
	return r.RunMine(binary, number)
}

// learnersMini puts the learner's files up to this chapter in the place of mini's, and says so.
func (r *Repo) learnersMini(number int) (Overlay, error) {
	exercises, _, err := r.miniExercises()
	if err != nil {
		return nil, err
	}
	overlay := Overlay{}
	for _, e := range exercises {
		if e.Number > number || !r.has(e.Mine()) {
			continue
		}
		fmt.Fprintf(os.Stderr, "yours: %s\n", e.Mine())
		overlay[e.Replaces] = e.Mine()
	}
	if len(overlay) == 0 {
		return nil, fmt.Errorf("none of the files is yours yet: `make write-%d` begins one", number)
	}
	return overlay.underTheirNames(r)
}
