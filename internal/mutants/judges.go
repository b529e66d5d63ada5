package mutants

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
)

// judges knows which tests must notice a mutant of a file.
type judges struct {
	exercises map[string]course.Exercise // by the file that they replace
	chapterOf map[string]int             // of a test, as "workqueue TestX"
}

// newJudges reads the exercises, and to which chapter each test belongs.
func newJudges(root string) (*judges, error) {
	repo, err := course.Open(root)
	if err != nil {
		return nil, err
	}
	exercises, problems, err := repo.Exercises()
	if err := errors.Join(err, problems.Err()); err != nil {
		return nil, fmt.Errorf("reading the exercises: %w", err)
	}
	j := &judges{exercises: map[string]course.Exercise{}, chapterOf: map[string]int{}}
	for _, e := range exercises {
		j.exercises[e.Replaces] = e
	}
	chapters, problems, err := repo.Chapters()
	if err := errors.Join(err, problems.Err()); err != nil {
		return nil, fmt.Errorf("reading the chapters: %w", err)
	}
	files, err := repo.GoFiles()
	if err != nil {
		return nil, err
	}
	for _, c := range chapters {
		owned, _ := c.Expand(files)
		for _, file := range owned {
			if !strings.HasSuffix(file, "_test.go") {
				continue
			}
			names, err := functionsIn(repo.Abs(file))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				j.chapterOf[path.Dir(file)+" "+name] = c.Number
			}
		}
	}
	return j, nil
}

func functionsIn(file string) (names []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("looking for tests: %w", err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// core reports whether a file is a pure core: one that an exercise replaces.
func (j *judges) core(file string) (course.Exercise, bool) {
	if j == nil {
		return course.Exercise{}, false
	}
	e, ok := j.exercises[file]
	return e, ok
}

// of picks the tests that judge a file from all those of its package: for a pure core
// those that judge a learner, who does not have the tests of later chapters.
func (j *judges) of(file string, all []string) ([]string, error) {
	e, ok := j.core(file)
	if !ok {
		return all, nil
	}
	dir := path.Dir(file)
	if !slices.Contains(e.Run.Packages, "./"+dir) {
		return nil, fmt.Errorf("exercise %s replaces %s, but runs no test of its package", e.ID, file)
	}
	pattern, err := regexp.Compile(e.Run.Tests)
	if err != nil {
		return nil, fmt.Errorf("the tests of exercise %s: %w", e.ID, err)
	}
	var picked []string
	for _, name := range all {
		if pattern.MatchString(name) && j.chapterOf[dir+" "+name] <= e.Chapter {
			picked = append(picked, name)
		}
	}
	return picked, nil
}

// name is how the summary calls the judge of a file.
func (j *judges) name(file string) string {
	if e, ok := j.core(file); ok {
		return "exercise " + e.ID
	}
	return "its package"
}

// testsOf lists the tests of a test binary that can fail: benchmarks cannot.
func testsOf(ctx context.Context, binary, dir string) ([]string, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.list=^(Test|Fuzz|Example)")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", filepath.Base(dir), err)
	}
	return strings.Fields(string(out)), nil
}

// Library lists the files that are worth mutating: those of the library without its tests, or
// only its pure cores.
func Library(root string, cores bool) ([]string, error) {
	j, err := newJudges(root)
	if err != nil {
		return nil, err
	}
	repo, err := course.Open(root)
	if err != nil {
		return nil, err
	}
	all, err := repo.GoFiles()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range all {
		top, _, _ := strings.Cut(f, "/")
		_, core := j.core(f)
		if core || !cores && slices.Contains(library, top) && !strings.HasSuffix(f, "_test.go") && !strings.HasPrefix(f, simulations) {
			files = append(files, f)
		}
	}
	return files, nil
}

// library is where the library is.
var library = []string{"trace", "informer", "workqueue", "manager", "controllers"}

// simulations is the code of tests alone.
const simulations = "controllers/internal/simulation/"
