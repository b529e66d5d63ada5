package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// cutSymbol returns the source of a function, type, variable or constant
// ("ListWatch", "NewListWatch") or method ("ListWatch.Watch"), with its doc
// comment unless doc is false, and a function's body unless body is false. A name that
// is declared in a group brings the whole group. "imports" is the package clause with the imports.
func cutSymbol(file, source, symbol string, doc, body bool) (string, error) {
	from, to, err := symbolRange(file, source, symbol, doc, body)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(withoutRegions(source[from:to]), " \n"), nil
}

// symbolRange returns the bytes that cutSymbol shows.
func symbolRange(file, source, symbol string, doc, body bool) (from, to int, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.ParseComments)
	if err != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", file, err)
	}
	offset := func(pos token.Pos) int { return fset.Position(pos).Offset }
	if symbol == "imports" {
		to := f.Name.End()
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
				to = d.End()
			}
		}
		return offset(f.Package), offset(to), nil
	}
	for _, decl := range f.Decls {
		comment, found := declares(decl, symbol)
		if !found {
			continue
		}
		from := decl.Pos()
		if comment != nil && doc {
			from = comment.Pos()
		}
		to := decl.End()
		if !body {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				return 0, 0, fmt.Errorf("%s is no function, so it has no body to leave out: remove body=false", symbol)
			}
			to = f.Body.Pos()
		}
		return offset(from), offset(to), nil
	}
	return 0, 0, fmt.Errorf("%s declares no %s: correct the symbol", file, symbol)
}

// declares reports whether a declaration is that of symbol, with its comment.
func declares(decl ast.Decl, symbol string) (*ast.CommentGroup, bool) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		return d.Doc, name == symbol
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.Name == symbol {
					return d.Doc, true
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.Name == symbol {
						return d.Doc, true
					}
				}
			}
		}
	}
	return nil, false
}

// receiver is the type's name, without the pointer and the type parameters.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
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

// cutRegion returns the lines between "// region NAME" and "// endregion NAME"
// (or "# region NAME" in YAML and shell), without their common indentation.
func cutRegion(file, source, name string) (string, error) {
	var lines []string
	inside, closed := false, false
	for line := range strings.Lines(source) {
		switch marker(line) {
		case "region " + name:
			inside = true
			continue
		case "endregion " + name:
			closed = inside
		}
		if closed {
			break
		}
		if inside {
			lines = append(lines, line)
		}
	}
	if !closed {
		return "", fmt.Errorf("%s has no lines between %q and %q", file, "region "+name, "endregion "+name)
	}
	return withoutMargins(dedent(withoutRegions(strings.Join(lines, "")))), nil
}

// withoutMargins drops the blank lines before and after. gofmt wants one between
// a marker and a doc comment, or else the marker is part of the comment.
func withoutMargins(text string) string {
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found || strings.TrimSpace(line) != "" {
			return strings.TrimRight(text, " \t\n")
		}
		text = rest
	}
}

// marker returns "region x" or "endregion x" for a comment line that says so.
func marker(line string) string {
	line = strings.TrimSpace(line)
	text, ok := strings.CutPrefix(line, "//")
	if !ok {
		text, ok = strings.CutPrefix(line, "#")
	}
	text = strings.TrimSpace(text)
	if ok && (strings.HasPrefix(text, "region ") || strings.HasPrefix(text, "endregion ")) {
		return text
	}
	return ""
}

func withoutRegions(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if marker(line) == "" {
			out.WriteString(line)
		}
	}
	return out.String()
}

func dedent(text string) string {
	common, first := "", true
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lead := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			common, first = lead, false
		}
		for !strings.HasPrefix(lead, common) {
			common = common[:len(common)-1]
		}
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimPrefix(line, common))
	}
	return out.String()
}
