package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// overlay is the package as an exercise's tests see it, with the files that are added to it. Tests of which they use
// nothing are hidden, as later files are: at the end of the course, to compile all tests takes 13 s, and to compile
// those of one file with what they use, 2.
func (r *Repo) overlay(e Exercise, added Overlay) (Overlay, error) {
	overlay := hide(e.hidden)
	maps.Copy(overlay, e.more)
	tests := []string{strings.TrimSuffix(e.Replaces, ".go") + "_test.go"}
	for _, file := range slices.Concat(sortedValues(e.more), sortedValues(added)) {
		if strings.HasSuffix(file, "_test.go") {
			tests = append(tests, file)
		}
	}
	unused, err := r.unusedTests(tests, e.hidden)
	maps.Copy(overlay, unused)
	return overlay, err
}

// unusedTests hides the files of mini's tests that declare nothing that the given tests use, directly or through
// others.
func (r *Repo) unusedTests(tests, hidden []string) (unused Overlay, err error) {
	all, err := filepath.Glob(r.Abs(path.Join(miniDir, "*_test.go")))
	if err != nil {
		return nil, err
	}
	unused, declaredIn := Overlay{}, map[string][]string{}
	for _, file := range all {
		name := path.Join(miniDir, filepath.Base(file))
		if slices.Contains(hidden, name) || slices.Contains(tests, name) {
			continue
		}
		f, err := r.parseTest(name)
		if err != nil {
			return nil, err
		}
		unused[name] = ""
		for _, declared := range f.declares() {
			declaredIn[declared] = append(declaredIn[declared], name)
		}
	}
	for len(tests) > 0 {
		f, err := r.parseTest(tests[0])
		if err != nil {
			return nil, err
		}
		tests = tests[1:]
		for _, used := range f.uses() {
			for _, file := range declaredIn[used] {
				if _, isUnused := unused[file]; isUnused {
					delete(unused, file)
					tests = append(tests, file)
				}
			}
		}
	}
	return unused, nil
}

type testFile struct{ *ast.File }

// parseTest reads as much of a test as it can. What's wrong with the rest, the compiler says better.
func (r *Repo) parseTest(file string) (testFile, error) {
	f, err := parser.ParseFile(token.NewFileSet(), r.Abs(file), nil, 0)
	if f == nil {
		return testFile{}, fmt.Errorf("reading a test: %w", err)
	}
	return testFile{f}, nil
}

// declares are the names by which other files may use this one, with their package. A method is one of them, with a
// dot, unless its type is in this file, too: whoever calls it uses the type.
func (f testFile) declares() (names []string) {
	for name := range f.Scope.Objects {
		names = append(names, f.Name.Name+" "+name)
	}
	for _, d := range f.Decls {
		method, is := d.(*ast.FuncDecl)
		if is && method.Recv != nil && f.Scope.Lookup(receiver(method.Recv.List[0].Type)) == nil {
			names = append(names, f.Name.Name+" ."+method.Name.Name)
		}
	}
	return names
}

// uses are the names that are not this file's own, and all that it selects.
func (f testFile) uses() (names []string) {
	for _, name := range f.Unresolved {
		names = append(names, f.Name.Name+" "+name.Name)
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if selector, is := n.(*ast.SelectorExpr); is {
			names = append(names, f.Name.Name+" ."+selector.Sel.Name)
		}
		return true
	})
	return names
}
