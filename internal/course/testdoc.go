package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"
)

// testDoc is what the comment on a test adds to the explanation of its failure.
type testDoc struct {
	text     string // the comment
	function string // from a line "Function: Cursor.Observe"
}

// testDoc reads the comment on the test that failed. A test that has none, or
// a file that cannot be read, leaves the explanation as it is.
func (r *Repo) testDoc(f Failure) testDoc {
	name, _, _ := strings.Cut(f.Test, "/")
	dir := r.packageDir(f.Package)
	entries, err := os.ReadDir(r.Abs(dir))
	if err != nil || name == "" {
		return testDoc{}
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), r.Abs(path.Join(dir, entry.Name())), nil, parser.ParseComments)
		if err != nil {
			continue
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == name && fn.Recv == nil {
				return readTestDoc(fn.Doc.Text())
			}
		}
	}
	return testDoc{}
}

// judged are the functions that the tests of an exercise say they judge, by the names of the tests.
func (r *Repo) judged(e Exercise) (map[string]string, error) {
	name := strings.TrimSuffix(e.Replaces, ".go") + "_test.go"
	file, err := parser.ParseFile(token.NewFileSet(), r.Abs(name), nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading the tests of exercise %d: %w", e.Number, err)
	}
	functions := map[string]string{}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			if named := readTestDoc(fn.Doc.Text()).function; named != "" {
				functions[fn.Name.Name] = named
			}
		}
	}
	return functions, nil
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
	doc.text = oneLine(strings.Join(lines, ""))
	return doc
}
