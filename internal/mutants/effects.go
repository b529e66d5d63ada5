package mutants

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// effects is what a statement reads and writes, also in the functions of the package that
// it calls. It is enough to leave out swaps of neighbours that have nothing to do
// with each other: there would be hundreds of those, and no test can notice any.
//
// A place is a variable, a field of any object (two pointers may point to one), or the
// elements of all slices and maps of a type.
type effects struct {
	reads, writes map[any]bool
	anything      bool // calls what is not known, or another goroutine may see the moment
	outside       bool // calls other packages, which do not see the fields of this one
	leaves        bool // may leave the list of statements
}

// orderMatters reports whether two neighbours may change places with an effect.
func (f *finder) orderMatters(a, b ast.Stmt) bool {
	if !f.movable(a) || !f.movable(b) || declares(a) && declares(b) {
		return false
	}
	x, y := f.effects(a), f.effects(b)
	return x.before(y) || y.before(x)
}

// before reports whether something of y may depend on x.
func (x effects) before(y effects) bool {
	if x.leaves || x.anything && (y.anything || y.outside || len(y.writes) > 0 || y.readsShared()) || x.outside && y.outside {
		return true
	}
	for place := range x.writes {
		if y.reads[place] || y.writes[place] {
			return true
		}
	}
	return false
}

// readsShared reports whether a statement reads what unknown code could write.
func (x effects) readsShared() bool {
	for place := range x.reads {
		if v, ok := place.(*types.Var); !ok || v.IsField() || v.Parent() == v.Pkg().Scope() {
			return true
		}
	}
	return false
}

// movable is false for what ends the list, for what runs at the end wherever it stands, and
// for a lock: whether something is guarded is for the race detector to say.
func (f *finder) movable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.SelectorExpr:
			return !slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, fun.Sel.Name)
		case *ast.Ident:
			return fun.Name != "panic"
		}
		return true
	}
	return false
}

// effects follows the calls from a statement to the functions of the package.
func (f *finder) effects(s ast.Stmt) effects {
	x := effects{reads: map[any]bool{}, writes: map[any]bool{}}
	calls := x.look(f.tree, s)
	ast.Inspect(s, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			x.leaves = true
		case *ast.FuncLit:
			return false
		}
		return true
	})
	seen := map[*types.Func]bool{}
	for len(calls) > 0 {
		called := calls[0]
		calls = calls[1:]
		if !seen[called] {
			seen[called] = true
			for _, body := range f.bodies(called) {
				calls = append(calls, x.look(f.tree, body)...)
			}
		}
	}
	return x
}

// bodies are the functions that a call may mean: one, or for a method of an interface all of
// that name.
func (t *tree) bodies(called *types.Func) (bodies []ast.Node) {
	recv := called.Signature().Recv()
	through := recv != nil && types.IsInterface(recv.Type())
	for _, file := range t.files {
		for _, d := range file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if ok && (t.info.Defs[d.Name] == called || through && d.Recv != nil && d.Name.Name == called.Name()) {
				bodies = append(bodies, d.Body)
			}
		}
	}
	return bodies
}

// look notes what a piece of code reads and writes itself, and returns the functions of
// the package that it calls.
func (x *effects) look(t *tree, code ast.Node) (calls []*types.Func) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called := x.call(t, n); called != nil {
				calls = append(calls, called)
			}
		case *ast.SendStmt, *ast.GoStmt, *ast.SelectStmt:
			x.anything = true
		case *ast.UnaryExpr:
			x.anything = x.anything || n.Op == token.ARROW
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				x.write(t, left)
			}
		case *ast.IncDecStmt:
			x.write(t, n.X)
		case *ast.RangeStmt:
			x.reads[t.elements(n.X)] = true
			x.write(t, n.Key)
			x.write(t, n.Value)
		case *ast.IndexExpr:
			x.reads[t.elements(n.X)] = true
		case *ast.StarExpr:
			x.reads[t.elements(n.X)] = true
		case *ast.Ident:
			if v, ok := t.info.Uses[n].(*types.Var); ok {
				x.reads[v.Origin()] = true
			}
		}
		return true
	})
	return calls
}

// elements is the place of what is in a slice, a map, or behind a pointer.
func (t *tree) elements(e ast.Expr) any { return "elements of " + t.info.TypeOf(e).String() }

// write notes what an assignment changes.
func (x *effects) write(t *tree, e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := t.info.ObjectOf(e).(*types.Var); ok {
			x.writes[v.Origin()] = true
		}
	case *ast.SelectorExpr:
		x.write(t, e.Sel)
	case *ast.IndexExpr:
		x.writes[t.elements(e.X)] = true
	case *ast.StarExpr:
		x.writes[t.elements(e.X)] = true
	case *ast.ParenExpr:
		x.write(t, e.X)
	}
}

// call notes what a call does, or returns the function if its body is in the package.
func (x *effects) call(t *tree, call *ast.CallExpr) *types.Func {
	if t.info.Types[call.Fun].IsType() {
		return nil // a conversion
	}
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X // a generic function with its type
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	case *ast.FuncLit:
		return nil // its body is looked at anyway
	}
	switch called := t.info.Uses[id].(type) {
	case *types.Builtin:
		switch called.Name() {
		case "copy", "clear", "delete":
			x.writes[t.elements(call.Args[0])] = true
		case "append":
			x.reads[t.elements(call.Args[0])] = true
		case "close", "panic", "recover", "print", "println":
			x.anything = true
		}
		return nil
	case *types.Func:
		if called.Pkg() == t.types {
			return called.Origin()
		}
		x.outside = true
		for _, arg := range call.Args {
			if _, ok := t.info.TypeOf(arg).Underlying().(*types.Signature); ok {
				x.anything = true // it calls back
			}
		}
		return nil
	}
	x.anything = true
	return nil
}
