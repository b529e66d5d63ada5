package main

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"strings"
)

// ours is the name under which a generated file imports our package.
const ours = "loopwright"

// declaration is what a generated file says about one name of theirs.
type declaration struct {
	kind    string // const, var, type or func
	name    string
	text    string
	imports map[string]string // from import path to the name that text uses

	problem string       // what the compiler says about it
	instead *declaration // if it doesn't compile
}

// forward declares a name of theirs as one of ours. A signature has client-go's types, as theirs has,
// or else those that we have in their place.
func (p *pkg) forward(theirs types.Object) (*declaration, error) {
	counterpart := p.counterpart.Scope().Lookup(theirs.Name())
	if counterpart == nil {
		return nil, fmt.Errorf("there is no %s.%s", p.counterpart.Path(), theirs.Name())
	}
	done, err := p.declare(theirs, counterpart, false)
	if err == nil {
		done.instead, _ = p.declare(theirs, counterpart, true)
	}
	return done, err
}

func (p *pkg) declare(theirs, counterpart types.Object, ownTypes bool) (*declaration, error) {
	w := &writer{pkg: p, imports: map[string]string{p.counterpart.Path(): ours}, ownTypes: ownTypes}
	done := &declaration{name: theirs.Name(), imports: w.imports}
	var err error
	switch theirs := theirs.(type) {
	case *types.Const:
		done.kind, done.text = "const", fmt.Sprintf("%s = %s.%[1]s", theirs.Name(), ours)
	case *types.Var:
		done.kind, done.text = "var", fmt.Sprintf("%s %s= %s.%[1]s", theirs.Name(), w.optional(theirs.Type()), ours)
	case *types.TypeName:
		done.kind = "type"
		done.text, err = w.alias(theirs, counterpart)
	case *types.Func:
		done.kind = "func"
		done.text, err = w.call(theirs, counterpart)
		if errors.Is(err, errNoName) && theirs.Signature().TypeParams() == nil {
			done.kind, done.text, err = "var", fmt.Sprintf("%s = %s.%[1]s", theirs.Name(), ours), nil
		}
	}
	return done, err
}

// optional writes the type of a variable, so that documentation shows it. There is none if nobody
// can name it.
func (w *writer) optional(t types.Type) string {
	alone := &writer{pkg: w.pkg, imports: map[string]string{}, ownTypes: w.ownTypes}
	text, err := alone.write(t)
	if err != nil {
		return ""
	}
	maps.Copy(w.imports, alone.imports)
	return text + " "
}

// alias declares a type. One with type parameters is a generic alias.
func (w *writer) alias(theirs *types.TypeName, counterpart types.Object) (string, error) {
	there, here := typeParameters(theirs.Type()), typeParameters(counterpart.Type())
	if there.Len() != here.Len() {
		return "", fmt.Errorf("type parameters: %d there, %d here", there.Len(), here.Len())
	}
	declared, arguments, err := w.parameters(there, there.Len())
	return fmt.Sprintf("%s%s = %s.%[1]s%[4]s", theirs.Name(), declared, ours, arguments), err
}

// call declares a function with their signature that calls ours. Ours may have more type parameters,
// at the end, if Go infers them.
func (w *writer) call(theirs *types.Func, counterpart types.Object) (string, error) {
	there, here := theirs.Signature(), counterpart.Type()
	inferred := 0
	if s, ok := here.(*types.Signature); ok {
		inferred = s.TypeParams().Len()
	}
	declared, given, err := w.parameters(there.TypeParams(), inferred)
	if err != nil {
		return "", err
	}
	var parameters, arguments []string
	for i := range there.Params().Len() {
		v := there.Params().At(i)
		name, t, variadic := v.Name(), v.Type(), there.Variadic() && i == there.Params().Len()-1
		if name == "" || name == "_" {
			name = fmt.Sprintf("argument%d", i+1)
		}
		dots := ""
		if variadic {
			t, dots = t.(*types.Slice).Elem(), "..."
		}
		text, err := w.write(t)
		if err != nil {
			return "", err
		}
		parameters = append(parameters, name+" "+dots+text)
		arguments = append(arguments, name+dots)
	}
	results, err := w.results(there.Results())
	if err != nil {
		return "", err
	}
	give := "return "
	if there.Results().Len() == 0 {
		give = ""
	}
	return fmt.Sprintf("%s%s(%s) %s {\n\t%s%s.%[1]s%[7]s(%[8]s)\n}", theirs.Name(), declared,
		strings.Join(parameters, ", "), results, give, ours, given, strings.Join(arguments, ", ")), nil
}

// parameters writes type parameters as they're declared, and at most this many as they're given to ours.
func (w *writer) parameters(list *types.TypeParamList, most int) (declared, given string, err error) {
	var declarations, names []string
	for p := range list.TypeParams() {
		constraint, err := w.write(p.Constraint())
		if err != nil {
			return "", "", err
		}
		declarations = append(declarations, p.Obj().Name()+" "+constraint)
		names = append(names, p.Obj().Name())
	}
	brackets := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return brackets(declarations), brackets(names[:min(most, len(names))]), nil
}

func (w *writer) results(results *types.Tuple) (string, error) {
	var list []string
	named := false
	for v := range results.Variables() {
		text, err := w.write(v.Type())
		if err != nil {
			return "", err
		}
		if v.Name() != "" {
			named, text = true, v.Name()+" "+text
		}
		list = append(list, text)
	}
	if len(list) == 1 && !named {
		return list[0], nil
	}
	if len(list) == 0 {
		return "", nil
	}
	return "(" + strings.Join(list, ", ") + ")", nil
}

func typeParameters(t types.Type) *types.TypeParamList {
	if generic, ok := t.(interface{ TypeParams() *types.TypeParamList }); ok {
		return generic.TypeParams()
	}
	return nil
}
