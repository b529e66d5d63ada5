package course

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// checkOrder proves that the tests of the exercises take their cases in the same
// order on every run. The cases of a map literal have a random order, so a
// learner's mistake would be explained by another case each time.
func (r *Repo) checkOrder(files []string) (problems Problems) {
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") && path.Dir(name) == miniDir {
			problems = append(problems, r.checkCases(name)...)
		}
	}
	return problems
}

func (r *Repo) checkCases(name string) (problems Problems) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, r.Abs(name), nil, parser.SkipObjectResolution)
	if err != nil {
		problems.add("%s cannot be read: %v", name, err)
		return problems
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if loop, ok := node.(*ast.RangeStmt); ok && isMapLiteral(loop.X) {
			problems.add("%s:%d goes through its cases in a random order, so a learner is told something else on every run: use a slice", name, fset.Position(loop.Pos()).Line)
		}
		return true
	})
	return problems
}

func isMapLiteral(x ast.Expr) bool {
	literal, ok := x.(*ast.CompositeLit)
	if !ok {
		return false
	}
	_, ok = literal.Type.(*ast.MapType)
	return ok
}
