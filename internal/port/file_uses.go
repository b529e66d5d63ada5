package port

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
	uses := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: empty(f.imports), FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check(f.dir, f.set, []*ast.File{f.syntax}, &types.Info{Uses: uses})
	for node := range ast.Preorder(f.syntax) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		left, ok := selector.X.(*ast.Ident)
		if !ok {
			continue
		}
		of, ok := uses[left].(*types.PkgName)
		if !ok {
			continue
		}
		for i := range f.imports {
			if f.imports[i].from.Theirs == of.Imported().Path() && f.imports[i].as == of.Name() {
				f.imports[i].uses = append(f.imports[i].uses, use{selector.Sel.Name, f.position(selector.Pos())})
			}
		}
	}
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
