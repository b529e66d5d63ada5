package course

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// checkOrder proves that the tests of an exercise take their cases in the same
// order on every run. The cases of a map literal have a random order, so a
// learner's mistake would be explained by another case each time.
func (r *Repo) checkOrder(exercises []Exercise, files []string) (problems Problems) {
	judges := map[string]bool{} // the directories with tests of exercises
	for _, e := range exercises {
		for _, pkg := range e.Run.Packages {
			judges[path.Clean(pkg)] = true
		}
	}
	for _, name := range slices.Sorted(slices.Values(files)) {
		if !strings.HasSuffix(name, "_test.go") || !judges[path.Dir(name)] {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, r.Abs(name), nil, parser.SkipObjectResolution)
		if err != nil {
			problems.add("%s cannot be read: %v", name, err)
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if loop, ok := node.(*ast.RangeStmt); ok && isMapLiteral(loop.X) {
				problems.add("%s:%d goes through its cases in a random order, so a learner is told something else on every run: use inorder.Map, or a slice", name, fset.Position(loop.Pos()).Line)
			}
			return true
		})
	}
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
