package mutants

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// statements proposes mutants of a list of statements: each one deleted or
// done wrong, and each two neighbours swapped.
func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		if f.deletable(s) && !(len(list) == 1 && f.isOnlyBody()) {
			f.add(s, "delete", f.code(s), "", edit{f.start(s), f.end(s), ""}, func(id int) []wrap {
				return []wrap{f.around(s, "if !"+on(id)+" { ", " }")}
			})
		}
		switch s := s.(type) {
		case *ast.AssignStmt:
			f.assignment(s)
		case *ast.IncDecStmt:
			f.insteadOf(s, f.code(s.X)+map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok], "arithmetic")
		case *ast.ExprStmt:
			f.wakeOne(s)
		case *ast.BranchStmt:
			other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[s.Tok]
			if other == "" {
				break
			}
			if s.Label != nil {
				other += " " + s.Label.Name
			}
			f.before(s, s, "break and continue", other)
		}
		if i+1 < len(list) {
			f.swap(s, list[i+1])
		}
	}
}

// isOnlyBody reports whether a list of one statement is all that its branch does. Then to delete the
// statement is what another operator does by another name.
func (f *finder) isOnlyBody() bool {
	p, ok := f.parent().(*ast.IfStmt)
	return ok && p.Else == nil
}

// deletable reports whether a statement can be left out. What declares a name
// cannot, and to delete an if is to make its condition false.
func (f *finder) deletable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !(len(s.Lhs) == 1 && isBlank(s.Lhs[0]))
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.ReturnStmt, *ast.RangeStmt:
		return true
	}
	return false
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// insteadOf proposes another statement.
func (f *finder) insteadOf(s ast.Stmt, code, operator string) {
	f.add(s, operator, f.code(s), code, edit{f.start(s), f.end(s), code}, func(id int) []wrap {
		return []wrap{f.around(s, "if "+on(id)+" { "+code+" } else { ", " }")}
	})
}

// before proposes code in place of a part of a statement that leaves the list: in the
// schemata, the changed statement comes first.
func (f *finder) before(s ast.Stmt, part ast.Node, operator, code string) {
	whole, start := f.code(s), f.start(s)
	changed := whole[:f.start(part)-start] + code + whole[f.end(part)-start:]
	f.add(part, operator, f.code(part), code, edit{f.start(part), f.end(part), code}, func(id int) []wrap {
		return []wrap{f.around(s, "if "+on(id)+" { "+changed+" }; ", "")}
	})
}

var assigned = map[token.Token]token.Token{token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	token.OR_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.XOR_ASSIGN: token.OR_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN}

// assignment proposes the opposite operator, and for a declaration, which cannot be
// deleted, that the name gets the zero value.
func (f *finder) assignment(s *ast.AssignStmt) {
	if op, ok := assigned[s.Tok]; ok {
		if mayBeNumber(f.info.TypeOf(s.Lhs[0])) {
			f.insteadOf(s, f.code(s.Lhs[0])+" "+op.String()+" "+f.code(s.Rhs[0]), "arithmetic")
		}
	}
	if s.Tok != token.DEFINE {
		return
	}
	for i, left := range s.Lhs {
		if isBlank(left) || len(s.Lhs) == len(s.Rhs) && f.isZero(s.Rhs[i]) {
			continue
		}
		zero := "; mutantZero(&" + f.code(left) + ")"
		f.add(left, "zero", f.code(s), f.code(left)+" := zero", edit{f.end(s), f.end(s), zero}, func(id int) []wrap {
			return []wrap{f.around(s, "", "; if "+on(id)+" { "+zero[2:]+" }")}
		})
	}
}

// isZero reports whether an expression is the zero value already.
func (f *finder) isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.Ident:
		if e.Name == "nil" {
			return true
		}
	}
	v := f.info.Types[e].Value
	if v == nil {
		return false
	}
	switch v.Kind() {
	case constant.Bool:
		return !constant.BoolVal(v)
	case constant.String:
		return constant.StringVal(v) == ""
	case constant.Int, constant.Float:
		return constant.Sign(v) == 0
	}
	return false
}

// results proposes the zero value for each result that is not a bool: those are negated.
func (f *finder) results(s *ast.ReturnStmt) {
	sig := f.signature()
	if sig == nil || len(s.Results) != sig.Results().Len() {
		return
	}
	for i, e := range s.Results {
		typ := sig.Results().At(i).Type()
		text, ok := f.typeText(f.file, typ)
		basic, isBasic := typ.Underlying().(*types.Basic)
		if ok && !f.isZero(e) && !(isBasic && basic.Info()&types.IsBoolean != 0) {
			f.before(s, e, "return zero", "*new("+text+")")
		}
	}
}

// elseBranch proposes that what follows an else is not done.
func (f *finder) elseBranch(s *ast.IfStmt) {
	if s.Else == nil {
		return
	}
	switch other := s.Else.(type) {
	case *ast.IfStmt:
		if other.Else == nil {
			return // a condition that is false is the same
		}
	case *ast.BlockStmt:
		if len(other.List) == 0 || len(other.List) == 1 && f.deletable(other.List[0]) {
			return // so is the deleted statement
		}
	}
	f.add(s.Else, "delete else", f.code(s.Else), "{}", edit{f.start(s.Else), f.end(s.Else), "{}"}, func(id int) []wrap {
		return []wrap{f.around(s.Else, "if !"+on(id)+" { ", " }")}
	})
}

// caseBody proposes that a case does nothing.
func (f *finder) caseBody(list []ast.Stmt) {
	if len(list) == 0 || len(list) == 1 && f.deletable(list[0]) {
		return
	}
	first, last := list[0], list[len(list)-1]
	body := string(f.text[f.name][f.start(first):f.end(last)])
	if strings.HasSuffix(body, "fallthrough") {
		return
	}
	f.add(first, "delete case body", body, "", edit{f.start(first), f.end(last), ""}, func(id int) []wrap {
		return []wrap{{start: f.start(first), end: f.end(last), open: "if !" + on(id) + " { ", close: " }"}}
	})
}

// wakeOne proposes that one goroutine wakes up where all should.
func (f *finder) wakeOne(s *ast.ExprStmt) {
	call, ok := s.X.(*ast.CallExpr)
	if !ok {
		return
	}
	wakes, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || wakes.Sel.Name != "Broadcast" {
		return
	}
	if method, ok := f.info.Uses[wakes.Sel].(*types.Func); ok && method.FullName() == "(*sync.Cond).Broadcast" {
		f.insteadOf(s, f.code(wakes.X)+".Signal()", "wake one")
	}
}

// once proposes that a loop that waits or tries again doesn't. One that counts is another matter: its condition is mutated.
func (f *finder) once(s *ast.ForStmt) {
	if s.Post != nil {
		return
	}
	at := f.fset.Position(s.Body.Rbrace).Offset
	head := string(f.text[f.name][f.start(s):f.start(s.Body)])
	becomes := "once"
	if s.Cond != nil {
		becomes = "if" + strings.TrimPrefix(head, "for")
	}
	f.add(s, "once", head, becomes, edit{at, at, ";break;"}, func(id int) []wrap {
		return []wrap{{start: at, end: at, open: "; if " + on(id) + " { break }"}}
	})
}

// swap proposes that two neighbours change places, where that can make a difference.
// In the schemata one of them stands in both places: the one that declares no name.
func (f *finder) swap(a, b ast.Stmt) {
	if !f.orderMatters(a, b) {
		return
	}
	between := string(f.text[f.name][f.end(a):f.start(b)])
	if strings.TrimSpace(between) == "" || strings.Contains(between, "//") {
		between = "\n"
	}
	swapped := f.code(b) + between + f.code(a)
	show := func(first, second ast.Stmt) string { return inWords(f.code(first)) + "; " + inWords(f.code(second)) }
	f.add(a, "swap", show(a, b), show(b, a), edit{f.start(a), f.end(b), swapped}, func(id int) []wrap {
		if !declares(b) {
			return []wrap{f.around(a, "if "+on(id)+" { "+f.code(b)+" }; ", ""), f.around(b, "if !"+on(id)+" { ", " }")}
		}
		return []wrap{f.around(a, "if !"+on(id)+" { ", " }"), f.around(b, "", "; if "+on(id)+" { "+f.code(a)+" }")}
	})
}

func declares(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	return ok && a.Tok == token.DEFINE
}
