// Package splice puts single declarations of one Go file in place of those of
// another: a plausible bug into the reference, a mutant, or the empty body that a
// learner starts from. What differs is kept once, and the rest not at all.
//
// Parse reads a file, and Diff finds the declarations in which two files differ.
// Replace makes a complete file with them. Dispatch makes a file that holds many
// versions of a function, of which an environment variable selects one at run
// time: it is compiled and linked once, however many versions there are. (The
// literature on mutation testing calls this mutant schemata.) Stub empties
// functions.
//
// Declarations are matched by name: "add" is a function, "dedup.add" a method,
// whatever its receiver is called and whether it is a pointer. A group of
// constants, variables or types is one declaration, because iota and repeated
// expressions tie its lines together.
//
// Neighbours: below it is only go/ast; above it is package course.
package splice

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// File is a Go file, or the declarations of one that count.
type File struct {
	// Name is what compilers and stack traces are to call the file. It must be
	// absolute, or empty for a file that no position points to.
	Name  string
	Decls []Decl

	text []byte
	fset *token.FileSet
	ast  *ast.File
}

// Decl is a declaration at the top level of a file.
type Decl struct {
	Names []string // what it declares
	Func  *ast.FuncDecl
	node  ast.Decl
	// Where it is in the text, with the comment above it and the one that ends
	// its last line.
	start, end int
}

// Parse reads a file. A file that does not parse is an error.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name, text: text, fset: token.NewFileSet()}
	var err error
	f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, node := range f.ast.Decls {
		if d, ok := f.newDecl(node); ok {
			f.Decls = append(f.Decls, d)
		}
	}
	return f, nil
}

func (f *File) newDecl(node ast.Decl) (Decl, bool) {
	d := Decl{node: node, start: f.offset(node.Pos()), end: f.offset(node.End())}
	var doc *ast.CommentGroup
	switch node := node.(type) {
	case *ast.FuncDecl:
		d.Func, doc = node, node.Doc
		d.Names = []string{funcName(node)}
	case *ast.GenDecl:
		if node.Tok == token.IMPORT {
			return Decl{}, false
		}
		doc = node.Doc
		d.Names = specNames(node)
	}
	if doc != nil {
		d.start = f.offset(doc.Pos())
	}
	line, _, _ := bytes.Cut(f.text[d.end:], []byte("\n"))
	if rest := bytes.TrimSpace(line); len(rest) == 0 || bytes.HasPrefix(rest, []byte("//")) {
		d.end += len(line)
	}
	return d, true
}

// funcName is "add" or "dedup.add".
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.ParenExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

func specNames(group *ast.GenDecl) []string {
	var names []string
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// Find returns the declaration of a name.
func (f *File) Find(name string) (Decl, bool) {
	if name == "_" {
		return Decl{}, false
	}
	for _, d := range f.Decls {
		if slices.Contains(d.Names, name) {
			return d, true
		}
	}
	return Decl{}, false
}

// replacedBy returns the declaration of f that d is to stand in for.
func (f *File) replacedBy(d Decl) (Decl, bool) {
	for _, name := range d.Names {
		if found, ok := f.Find(name); ok {
			return found, true
		}
	}
	return Decl{}, false
}

// Text is the text of a declaration of this file, with its comment.
func (f *File) Text(d Decl) []byte { return f.text[d.start:d.end] }

func (f *File) offset(p token.Pos) int { return f.fset.PositionFor(p, false).Offset }

func (f *File) line(offset int) int { return 1 + bytes.Count(f.text[:offset], []byte("\n")) }

// code is a declaration without comments and layout, for comparison.
func (f *File) code(d Decl) string {
	src := f.text[f.offset(d.node.Pos()):f.offset(d.node.End())]
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), src, nil, 0)
	var out strings.Builder
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return out.String()
		}
		if tok == token.SEMICOLON {
			text = ";"
		}
		fmt.Fprintf(&out, "%s %s\n", tok, text)
	}
}

// Check returns what is wrong with a patch, as sentences without a subject: it
// declares something that the base has in the same words, or that nobody needs.
func Check(base, patch *File) []string {
	var problems []string
	if base.ast.Name.Name != patch.ast.Name.Name {
		problems = append(problems, fmt.Sprintf("is in package %s and not in %s", patch.ast.Name.Name, base.ast.Name.Name))
	}
	if len(patch.Decls) == 0 {
		problems = append(problems, "declares nothing")
	}
	for i, d := range patch.Decls {
		old, known := base.replacedBy(d)
		switch {
		case slices.ContainsFunc(patch.Decls[:i], func(other Decl) bool { return overlap(other, d) }):
			problems = append(problems, fmt.Sprintf("declares %s twice", strings.Join(d.Names, ", ")))
		case known && base.code(old) == patch.code(d):
			problems = append(problems, fmt.Sprintf("declares %s as the reference does: leave it out", strings.Join(d.Names, ", ")))
		case !known && !patch.uses(d):
			problems = append(problems, fmt.Sprintf("declares %s, which the reference does not have and nothing in the file uses", strings.Join(d.Names, ", ")))
		}
	}
	return problems
}

func overlap(a, b Decl) bool {
	return slices.ContainsFunc(a.Names, func(name string) bool { return name != "_" && slices.Contains(b.Names, name) })
}

// uses reports whether another declaration of the file names this one.
func (f *File) uses(d Decl) bool {
	used := false
	for _, other := range f.Decls {
		if other.node == d.node {
			continue
		}
		ast.Inspect(other.node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, name := range d.Names {
					used = used || id.Name == name[strings.LastIndexByte(name, '.')+1:]
				}
			}
			return true
		})
	}
	return used
}
