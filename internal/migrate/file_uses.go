package migrate

import (
	"go/ast"
	"go/types"
	"path"
	"strconv"
)

// findUses lists the names that the file mentions of each import.
//
// A variable may have the name of a package and hide it, as in
//
//	func list(client client.Client) { client.List(...) }
//
// so go/types looks at the file. What it would need of other files and packages it does not get: it is asked
// for nothing but which identifiers are packages, and its errors do not matter.
func (f *file) findUses() {
	if len(f.imports) == 0 {
		return
	}
	f.packages = map[*ast.Ident]types.Object{}
	config := types.Config{Importer: empty(f.imports), FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check(f.dir, f.set, []*ast.File{f.syntax}, &types.Info{Uses: f.packages})
	for node := range ast.Preorder(f.syntax) {
		switch node := node.(type) {
		case *ast.CallExpr:
			f.keepFake(node)
		case *ast.SelectorExpr:
			if i := f.importOf(node); i != nil {
				i.uses = append(i.uses, use{node.Sel.Name, f.position(node.Pos())})
			}
		}
	}
}

// importOf returns the import whose name an expression is, such as client.Object, or nil.
func (f *file) importOf(name ast.Expr) *imported {
	selector, ok := name.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	left, ok := selector.X.(*ast.Ident)
	if !ok {
		return nil
	}
	of, ok := f.packages[left].(*types.PkgName)
	if !ok {
		return nil
	}
	for i := range f.imports {
		if f.imports[i].from.Theirs == of.Imported().Path() && f.imports[i].as == of.Name() {
			return &f.imports[i]
		}
	}
	return nil
}

// empty imports packages that have a name and nothing in them.
type empty []imported

func (e empty) Import(importPath string) (*types.Package, error) {
	name := path.Base(importPath)
	for _, i := range e {
		if quoted, _ := strconv.Unquote(i.spec.Path.Value); quoted == importPath {
			name = i.from.Name
		}
	}
	made := types.NewPackage(importPath, name)
	made.MarkComplete()
	return made, nil
}
