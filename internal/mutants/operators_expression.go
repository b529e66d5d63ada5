package mutants

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// A comparison is moved by one, or turned round.
var boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
var negation = map[token.Token]token.Token{token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
	token.EQL: token.NEQ, token.NEQ: token.EQL}
var logical = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}

// Arithmetic takes the operator that is nearest to a slip of the pen.
var arithmetic = map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.REM: token.MUL, token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR, token.OR: token.AND,
	token.XOR: token.AND, token.AND_NOT: token.AND}

// instead proposes other code for an expression. In the schemata the choice is a
// function literal that is called on the spot, so that only one of the two is evaluated.
func (f *finder) instead(e ast.Expr, operator, code string) {
	typ, ok := f.typeText(f.file, f.info.TypeOf(e))
	if !ok {
		return
	}
	f.add(e, operator, f.code(e), code, edit{f.start(e), f.end(e), "(" + code + ")"}, func(id int) []wrap {
		return []wrap{f.around(e, "func() "+typ+" { if "+on(id)+" { return "+code+" }; return ", " }()")}
	})
}

// expression proposes mutants of an expression that is a value.
func (f *finder) expression(e ast.Expr) {
	if tv, ok := f.info.Types[e]; !ok || !tv.IsValue() || f.onlyRoom(e) {
		return
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.binary(e)
	case *ast.BasicLit:
		f.number(e, e.Kind == token.INT || e.Kind == token.FLOAT)
	case *ast.Ident:
		c, ok := f.info.Uses[e].(*types.Const)
		f.number(e, ok && c.Pkg() == f.types && isQuantity(c.Type()))
	case *ast.UnaryExpr:
		if e.Op == token.SUB && f.info.Types[e].Value == nil {
			f.instead(e, "minus", f.code(e.X))
		}
	case *ast.CompositeLit:
		f.fields(e)
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && f.builtin(id) && (id.Name == "min" || id.Name == "max") {
			other := map[string]string{"min": "max", "max": "min"}[id.Name]
			f.instead(e, "min and max", other+strings.TrimPrefix(f.code(e), id.Name))
		}
	}
	f.boolean(e)
}

// fields proposes that a field isn't set: a precondition, a deadline, an owner. A bool is negated already.
func (f *finder) fields(e *ast.CompositeLit) {
	if _, ok := f.info.TypeOf(e).Underlying().(*types.Struct); !ok {
		return
	}
	for _, element := range e.Elts {
		kv, ok := element.(*ast.KeyValueExpr)
		if !ok || f.isZero(kv.Value) {
			continue
		}
		typ := f.info.TypeOf(kv.Value)
		basic, isBasic := typ.Underlying().(*types.Basic)
		if text, ok := f.typeText(f.file, typ); ok && !(isBasic && basic.Info()&types.IsBoolean != 0) {
			f.instead(kv.Value, "no field", "*new("+text+")")
		}
	}
}

func (f *finder) binary(e *ast.BinaryExpr) {
	if f.info.Types[e].Value != nil {
		return // a constant: its numbers are mutated one by one
	}
	with := func(op token.Token) string { return f.code(e.X) + " " + op.String() + " " + f.code(e.Y) }
	if op, ok := boundary[e.Op]; ok {
		f.instead(e, "boundary", with(op))
	}
	// A condition that is always true, and one that is always false, are
	// mutants already; a test that notices both notices the negation.
	if op, ok := negation[e.Op]; ok && !f.isCondition(e) {
		f.instead(e, "negation", with(op))
	}
	if op, ok := logical[e.Op]; ok {
		f.instead(e, "logical", with(op))
		f.instead(e, "left alone", f.code(e.X))
		f.instead(e, "right alone", f.code(e.Y))
	}
	if op, ok := arithmetic[e.Op]; ok && mayBeNumber(f.info.TypeOf(e)) {
		f.instead(e, "arithmetic", with(op))
	}
}

// mayBeNumber is true for type parameters, too: if they are strings, a minus does not compile.
func mayBeNumber(t types.Type) bool {
	if _, ok := t.(*types.TypeParam); ok {
		return true
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// number proposes a constant that is one larger or smaller. For a duration, where one
// nanosecond is nothing, it is twice as long or half as long.
func (f *finder) number(e ast.Expr, is bool) {
	if !is {
		return
	}
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.INT {
		v, one := constant.MakeFromLiteral(lit.Value, lit.Kind, 0), constant.MakeInt64(1)
		for _, op := range f.steps(e) {
			f.instead(e, "constant", constant.BinaryOp(v, op, one).ExactString())
		}
		return
	}
	if f.info.TypeOf(e).String() == "time.Duration" {
		f.instead(e, "constant", f.code(e)+" * 2")
		f.instead(e, "constant", f.code(e)+" / 2")
		return
	}
	for _, op := range f.steps(e) {
		f.instead(e, "constant", f.code(e)+" "+op.String()+" 1")
	}
}

// steps are the directions in which a constant is moved. To the right of a comparison of
// integers one of them is the mutant of the boundary: x < 3+1 is x <= 3.
func (f *finder) steps(e ast.Expr) []token.Token {
	p, ok := f.parent().(*ast.BinaryExpr)
	basic, isBasic := f.info.TypeOf(e).Underlying().(*types.Basic)
	if ok && p.Y == e && isBasic && basic.Info()&types.IsInteger != 0 {
		switch p.Op {
		case token.LSS, token.GEQ:
			return []token.Token{token.SUB}
		case token.GTR, token.LEQ:
			return []token.Token{token.ADD}
		}
	}
	return []token.Token{token.ADD, token.SUB}
}

// isQuantity is false for the values of an enumeration, for which +1 means nothing.
func isQuantity(t types.Type) bool {
	if t.String() == "time.Duration" {
		return true
	}
	basic, ok := t.(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// onlyRoom reports whether an expression says how much room is made in advance, which
// no result depends on.
func (f *finder) onlyRoom(e ast.Expr) bool {
	call, ok := f.parent().(*ast.CallExpr)
	if !ok {
		return false
	}
	if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "make" || !f.builtin(id) {
		return false
	}
	switch f.info.TypeOf(call).Underlying().(type) {
	case *types.Map:
		return len(call.Args) > 1 && e == call.Args[1]
	case *types.Slice:
		return len(call.Args) > 2 && e == call.Args[2]
	}
	return false
}

func (f *finder) builtin(id *ast.Ident) bool {
	_, ok := f.info.Uses[id].(*types.Builtin)
	return ok
}

// isCondition reports whether the current expression is all of what an if or for asks, or one of
// the cases of a switch without a tag.
func (f *finder) isCondition(e ast.Expr) bool {
	switch p := f.parent().(type) {
	case *ast.IfStmt:
		return p.Cond == e
	case *ast.ForStmt:
		return p.Cond == e
	}
	return f.isCase(e)
}

func (f *finder) isCase(e ast.Expr) bool {
	p, ok := f.parent().(*ast.CaseClause)
	if !ok || len(f.path) < 3 {
		return false
	}
	s, ok := f.path[len(f.path)-3].(*ast.SwitchStmt)
	for _, one := range p.List {
		if ok && s.Tag == nil && one == e {
			return true
		}
	}
	return false
}

// condition proposes that a condition is always true or always false. A loop that is
// always true would only never end.
func (f *finder) condition(e ast.Expr, also bool) {
	if e == nil {
		return
	}
	f.instead(e, "condition", "false")
	if also {
		f.instead(e, "condition", "true")
	}
}

// boolean negates what is no comparison: a variable, a field, the answer of a call.
func (f *finder) boolean(e ast.Expr) {
	if f.isCase(e) {
		f.condition(e, true)
	}
	basic, ok := f.info.TypeOf(e).Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsBoolean == 0 || f.isCondition(e) || !f.isRead(e) {
		return
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			f.instead(e, "not", f.code(e.X))
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		code := "!" + f.code(e)
		if v := f.info.Types[e].Value; v != nil {
			code = fmt.Sprint(!constant.BoolVal(v))
		}
		f.instead(e, "not", code)
	}
}

// isRead reports whether the current expression is used as a value here, and is not the
// target of an assignment, or a part of a name.
func (f *finder) isRead(e ast.Expr) bool {
	switch p := f.parent().(type) {
	case *ast.BinaryExpr, *ast.ReturnStmt:
		return true
	case *ast.CallExpr:
		return p.Fun != e
	case *ast.KeyValueExpr:
		return p.Value == e
	case *ast.AssignStmt:
		if len(p.Lhs) != len(p.Rhs) {
			return false
		}
		for _, r := range p.Rhs {
			if r == e {
				return true
			}
		}
	}
	return false
}
