// Package drift compares the Go files of two versions of a module, declaration by declaration, and finds the
// sentences that mention one.
//
//	two directories -> Versions.File -> Changes: added, removed, changed, or moved to another file
//	texts -> Mentions.Read; the name of a Change -> Mentions.Of -> the lines to read again
//
// Comments and formatting don't count, because no text of ours depends on them.
//
// Neighbours: below it are go/parser and goldmark. Above it is internal/course, which knows where the versions are and
// which chapters mention what.
package drift

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"strings"
)

// declaration is a function, method, type, constant or variable.
type declaration struct {
	Name string // "NewReflector"; of a method "Reflector.Run"
	Code string // for people: without comments, and as gofmt would have it

	tokens string // what is compared
}

// read returns the declarations of a file, in its order. Blank ones are left out, since nobody can mention them.
func read(file string, source []byte) ([]declaration, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution) // without ParseComments, so there are none
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	r := reader{fset: fset}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			r.add(name, d, "")
		case *ast.GenDecl:
			r.group(d)
		}
	}
	return r.found, r.err
}

// reader collects the declarations of one file.
type reader struct {
	fset  *token.FileSet
	found []declaration
	err   error
}

// group adds what is declared in parentheses one by one, so that a new constant does not change its neighbours.
func (r *reader) group(d *ast.GenDecl) {
	var values []ast.Expr // those that a constant without any repeats
	var kind ast.Expr
	for i, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			r.add(s.Name.Name, s, "type ")
		case *ast.ValueSpec:
			if d.Tok == token.CONST {
				if s.Values == nil {
					s.Type, s.Values = kind, values
				}
				kind, values = s.Type, s.Values
			}
			r.value(d.Tok, s, i)
		}
	}
}

// value adds each name of a constant or variable. at is the constant's place in its group, which counts only where
// iota does.
func (r *reader) value(tok token.Token, s *ast.ValueSpec, at int) {
	for i, name := range s.Names {
		one := &ast.ValueSpec{Names: []*ast.Ident{ast.NewIdent(name.Name)}, Type: s.Type, Values: s.Values}
		if len(s.Values) == len(s.Names) { // else a function returns several
			one.Values = s.Values[i : i+1]
		}
		prefix := tok.String() + " "
		if tok == token.CONST && mentionsIota(one.Values) {
			prefix = fmt.Sprintf("const /* iota is %d */ ", at)
		}
		r.add(name.Name, one, prefix)
	}
}

func mentionsIota(values []ast.Expr) (found bool) {
	for _, v := range values {
		ast.Inspect(v, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == "iota"
			return true
		})
	}
	return found
}

func (r *reader) add(name string, node ast.Node, prefix string) {
	if name == "_" {
		return
	}
	var code bytes.Buffer
	code.WriteString(prefix)
	if err := (&printer.Config{Mode: printer.TabIndent | printer.UseSpaces, Tabwidth: 8}).Fprint(&code, r.fset, node); err != nil {
		r.err = fmt.Errorf("printing %s: %w", name, err)
		return
	}
	for i, base := 2, name; r.has(name); i++ { // a file may have several init
		name = fmt.Sprintf("%s (%d)", base, i)
	}
	r.found = append(r.found, declaration{Name: name, Code: code.String() + "\n", tokens: tokensOf(code.Bytes())})
}

func (r *reader) has(name string) bool {
	_, ok := find(r.found, name)
	return ok
}

func find(all []declaration, name string) (declaration, bool) {
	for _, d := range all {
		if d.Name == name {
			return d, true
		}
	}
	return declaration{}, false
}

// receiver is the type's name, without the pointer and the type parameters.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.ParenExpr:
		return receiver(t.X)
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

// tokensOf is what the compiler reads. Two texts with the same tokens differ at most in spaces and line breaks, and
// in the comma that a line break needs. Where iota counts, its value is part of it.
func tokensOf(code []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(code)), code, func(token.Position, string) {}, scanner.ScanComments)
	var out []string
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return strings.Join(out, " ")
		case token.SEMICOLON:
			text = ";"
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if n := len(out); n > 0 && (out[n-1] == "," || out[n-1] == ";") {
				out = out[:n-1]
			}
			text = tok.String()
		default:
			if text == "" {
				text = tok.String()
			}
		}
		out = append(out, text)
	}
}
