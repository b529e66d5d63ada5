package mutants

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder looks through one file and collects its mutants. The operators for
// expressions and for statements are in files of their own.
type finder struct {
	*tree
	name  string
	file  *ast.File
	next  func() int // numbers the mutants of the package
	path  []ast.Node // from the declaration down to the current node
	found []*Mutant
}

// find proposes mutants of a file. Some of them do not compile yet.
func (t *tree) find(name string, next func() int) []*Mutant {
	f := &finder{tree: t, name: name, file: t.files[name], next: next}
	for _, d := range f.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			continue // constants and types are not code that runs
		}
		ast.Inspect(d, f.visit)
	}
	return f.found
}

func (f *finder) visit(n ast.Node) bool {
	if n == nil {
		f.path = f.path[:len(f.path)-1]
		return true
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok != token.VAR {
			return false
		}
	case *ast.FuncType, *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.StructType, *ast.InterfaceType:
		return false
	case ast.Expr:
		f.expression(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
		f.caseBody(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
		f.caseBody(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond, true)
		f.elseBranch(n)
	case *ast.ForStmt:
		f.condition(n.Cond, false)
		f.once(n)
	case *ast.ReturnStmt:
		f.results(n)
	}
	f.path = append(f.path, n)
	return true
}

// add notes a mutant of a node.
func (f *finder) add(n ast.Node, operator, original, mutated string, e edit, wraps func(id int) []wrap) {
	id := f.next()
	m := &Mutant{ID: id, File: f.name, Line: f.fset.Position(n.Pos()).Line, Function: f.function(),
		Operator: operator, Original: inWords(original), Mutated: inWords(mutated), Nth: 1, edit: e, wraps: wraps(id)}
	for _, other := range f.found {
		if other.Function == m.Function && other.Operator == m.Operator && other.Original == m.Original && other.Mutated == m.Mutated {
			m.Nth++
		}
	}
	f.found = append(f.found, m)
}

// function is the declaration that the current node is in.
func (f *finder) function() string {
	if len(f.path) == 0 {
		return "var"
	}
	d, ok := f.path[0].(*ast.FuncDecl)
	if !ok {
		return "var"
	}
	if d.Recv == nil {
		return d.Name.Name
	}
	recv := f.code(d.Recv.List[0].Type)
	recv, _, _ = strings.Cut(strings.TrimPrefix(recv, "*"), "[")
	return recv + "." + d.Name.Name
}

// parent is the node above the current one.
func (f *finder) parent() ast.Node {
	if len(f.path) == 0 {
		return nil
	}
	return f.path[len(f.path)-1]
}

// signature is the type of the function that the current node is in.
func (f *finder) signature() *types.Signature {
	for _, n := range slices.Backward(f.path) {
		switch n := n.(type) {
		case *ast.FuncLit:
			return f.info.TypeOf(n).(*types.Signature)
		case *ast.FuncDecl:
			return f.info.Defs[n.Name].Type().(*types.Signature)
		}
	}
	return nil
}

func (f *finder) start(n ast.Node) int { return f.fset.Position(n.Pos()).Offset }
func (f *finder) end(n ast.Node) int   { return f.fset.Position(n.End()).Offset }
func (f *finder) code(n ast.Node) string {
	return string(f.text[f.name][f.start(n):f.end(n)])
}

// around is a wrap of a whole node.
func (f *finder) around(n ast.Node, open, close string) wrap {
	_, isExpr := n.(ast.Expr)
	return wrap{start: f.start(n), end: f.end(n), open: open, close: close, inner: isExpr}
}

// on is the switch of a mutant in the schemata.
func on(id int) string { return fmt.Sprintf("mutantOn(%d)", id) }
