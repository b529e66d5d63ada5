package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// testDoc is what the comment on a test adds to the explanation of its failure.
type testDoc struct {
	text     string // the comment
	function string // from a line "Function: Cursor.Observe"
}

// testDoc reads the comment on the test that failed, which is in the package's directory or in a file that an exercise
// adds to it. If the test has no comment, or its file can't be read, the explanation does without.
func (r *Repo) testDoc(e Exercise, f gotest.Failure) testDoc {
	test, _, _ := strings.Cut(f.Test, "/")
	dir := r.packageDir(f.Package)
	entries, err := os.ReadDir(r.Abs(dir))
	if err != nil || test == "" {
		return testDoc{}
	}
	var files []string
	for _, entry := range entries {
		files = append(files, path.Join(dir, entry.Name()))
	}
	for _, added := range sortedKeys(e.more) {
		files = append(files, e.more[added])
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		if docs, err := r.testDocs(file); err == nil && docs[test] != (testDoc{}) {
			return docs[test]
		}
	}
	return testDoc{}
}

// judged are the functions that the tests of an exercise say they judge, by the names of the tests.
func (r *Repo) judged(e Exercise) (map[string]string, error) {
	docs, err := r.testDocs(strings.TrimSuffix(e.Replaces, ".go") + "_test.go")
	if err != nil {
		return nil, fmt.Errorf("reading the tests of exercise %d: %w", e.Number, err)
	}
	functions := map[string]string{}
	for test, doc := range docs {
		if doc.function != "" {
			functions[test] = doc.function
		}
	}
	return functions, nil
}

// testDocs reads the comments on the functions of a file, by their names.
func (r *Repo) testDocs(name string) (map[string]testDoc, error) {
	file, err := parser.ParseFile(token.NewFileSet(), r.Abs(name), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	docs := map[string]testDoc{}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
			docs[fn.Name.Name] = readTestDoc(fn.Doc.Text())
		}
	}
	return docs, nil
}

func readTestDoc(comment string) testDoc {
	var doc testDoc
	var lines []string
	for line := range strings.Lines(comment) {
		if function, ok := strings.CutPrefix(line, "Function: "); ok {
			doc.function = strings.TrimSpace(function)
			continue
		}
		lines = append(lines, line)
	}
	doc.text = gotest.OneLine(strings.Join(lines, ""))
	return doc
}
