package migrate

import (
	"cmp"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
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
	short := map[ast.Expr]string{}
	for node := range ast.Preorder(f.syntax) {
		switch node := node.(type) {
		case *ast.IndexExpr:
			short[node.X] = f.shorten(node, node.X, node.Index)
		case *ast.IndexListExpr:
			short[node.X] = f.shorten(node, node.X, node.Indices...)
		case *ast.SelectorExpr:
			if i := f.importOf(node); i != nil {
				i.uses = append(i.uses, use{cmp.Or(short[node], node.Sel.Name), f.position(node.Pos())})
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

// shorten returns our name for a generic one whose type arguments are what it is about here anyway, or "": there,
// event.CreateEvent is an alias of event.TypedCreateEvent[client.Object]. It notes the edit.
func (f *file) shorten(whole, generic ast.Expr, arguments ...ast.Expr) string {
	i := f.importOf(generic)
	if i == nil || !ControllerRuntime.IsTheirs(i.from.Theirs) {
		return ""
	}
	typed := generic.(*ast.SelectorExpr).Sel
	name := strings.Replace(typed.Name, "Typed", "", 1)
	if !Typed.MatchString(typed.Name) || i.from.missing(name) != "" {
		return ""
	}
	if !forAnyObject.MatchString(typed.Name) && slices.ContainsFunc(arguments, f.isOther) {
		return ""
	}
	i.short = append(i.short, edit{f.offset(typed.Pos()), f.offset(whole.End()), name})
	return name
}

// isOther reports whether a type argument is neither client.Object nor reconcile.Request. go/types does not look at the
// arguments of a type that it does not have. They are types, so no variable hides the package.
func (f *file) isOther(argument ast.Expr) bool {
	selector, _ := argument.(*ast.SelectorExpr)
	if selector == nil {
		return true
	}
	left, _ := selector.X.(*ast.Ident)
	return left == nil || !slices.ContainsFunc(f.imports, func(i imported) bool {
		name := i.from.Name + "." + selector.Sel.Name
		return i.as == left.Name && (name == "client.Object" || name == "reconcile.Request" || name == "controllerruntime.Request")
	})
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
