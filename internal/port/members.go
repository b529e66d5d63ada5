package port

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// membersIn lists where a module uses fields and methods that are missing or different here. That takes
// types, so the module has to compile as it is, with its dependencies at hand.
func membersIn(ctx context.Context, root, dir string, names *Names) (found []Problem, err error) {
	at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{
		Context: ctx, Dir: at, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, p := range list {
		for _, e := range p.Errors {
			if err == nil && e.Kind != packages.ListError { // the go command's say the same with more words
				err = fmt.Errorf("%s does not compile as it is: %w", p.PkgPath, e)
			}
		}
		if err == nil && len(p.Errors) > 0 {
			err = fmt.Errorf("%s does not load: %w", p.PkgPath, p.Errors[0])
		}
		for _, syntax := range p.Syntax {
			for _, problem := range membersOf(p, syntax, names) {
				relative, err := filepath.Rel(root, problem.At.Filename)
				if err != nil {
					return nil, err
				}
				problem.At.Filename = filepath.ToSlash(relative)
				found = append(found, problem)
			}
		}
	}
	return found, err
}

func membersOf(p *packages.Package, syntax *ast.File, names *Names) (found []Problem) {
	look := func(of types.Type, member *ast.Ident) {
		if pointer, ok := types.Unalias(of).(*types.Pointer); ok {
			of = pointer.Elem()
		}
		named, ok := types.Unalias(of).(*types.Named)
		if !ok || named.Obj().Pkg() == nil {
			return
		}
		in := names.find(named.Obj().Pkg().Path())
		if in == nil {
			return
		}
		name := named.Obj().Name() + "." + member.Name
		if lack := in.lacks(name); lack != nil {
			found = append(found, Problem{At: p.Fset.PositionFor(member.Pos(), false), What: in.Name + "." + name, Why: lack.Why, Compiles: lack.Compiles})
		}
	}
	for node := range ast.Preorder(syntax) {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if selection := p.TypesInfo.Selections[node]; selection != nil {
				look(selection.Recv(), node.Sel)
			}
		case *ast.CompositeLit:
			for _, element := range node.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if field, ok := pair.Key.(*ast.Ident); ok {
						look(p.TypesInfo.TypeOf(node), field)
					}
				}
			}
		}
	}
	return found
}
