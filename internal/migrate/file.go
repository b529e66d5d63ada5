package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
)

// file is one Go file: its text, and what it imports of theirs.
type file struct {
	name    string // as problems show it
	dir     string
	text    []byte
	set     *token.FileSet
	syntax  *ast.File
	imports []imported
	ours    bool // it imports this library already

	packages map[*ast.Ident]types.Object // which identifiers are packages
}

// imported is an import that may be replaced.
type imported struct {
	spec  *ast.ImportSpec
	from  *Package
	as    string // the name that the file has for it; "_" and "." as they are
	uses  []use
	edits []edit // of fake clients
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string
}

// use is one place where a file mentions a name of a package.
type use struct {
	name string
	at   token.Position
}

func parse(name string, text []byte, names *Names, paths Paths) (*file, error) {
	f := &file{name: name, dir: path.Dir(name), text: text, set: token.NewFileSet()}
	var err error
	if f.syntax, err = parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	for _, spec := range f.syntax.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", f.set.Position(spec.Pos()), spec.Path.Value, err)
		}
		f.ours = f.ours || paths.IsOurs(importPath)
		if _, ok := paths.Counterpart(importPath); !ok {
			continue
		}
		from := names.find(importPath)
		if from == nil {
			from = &Package{Theirs: importPath, Name: path.Base(importPath), Why: "there is no such package in controller-runtime v0.25"}
		}
		as := from.Name
		if spec.Name != nil {
			as = spec.Name.Name
		}
		f.imports = append(f.imports, imported{spec: spec, from: from, as: as})
	}
	f.findUses()
	return f, nil
}

// rewritten returns the text with other import paths, for the imports that move, and with the edits that keepFake has
// noted. Nothing else changes; only that a file that was formatted stays so, because the order of imports may be another
// one.
func (f *file) rewritten() ([]byte, error) {
	var edits []edit
	for _, i := range f.imports {
		if !i.moves() {
			continue
		}
		quoted := strconv.Quote(i.from.Ours)
		if i.spec.Path.Value[0] == '`' {
			quoted = "`" + i.from.Ours + "`"
		}
		if i.spec.Name == nil && i.from.OurName != "" && len(i.uses) > 0 {
			quoted = i.from.Name + " " + quoted // the file goes on to call it what it is called there
		}
		edits = append(edits, edit{f.offset(i.spec.Path.Pos()), f.offset(i.spec.Path.End()), quoted})
		edits = append(edits, i.edits...)
	}
	if len(edits) == 0 {
		return f.text, nil
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	done := 0
	for _, e := range edits {
		out.Write(f.text[done:e.from])
		out.WriteString(e.text)
		done = e.to
	}
	out.Write(f.text[done:])
	if before, err := format.Source(f.text); err != nil || !bytes.Equal(before, f.text) {
		return out.Bytes(), nil
	}
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: what was made of it is no Go: %w", f.name, err)
	}
	return formatted, nil
}

// File returns a Go file with our import paths in the place of theirs. Every import of a package that is here
// is replaced, whatever the file uses of it.
func File(name string, text []byte) ([]byte, error) {
	names, err := Known()
	if err != nil {
		return nil, err
	}
	f, err := parse(name, text, names, ControllerRuntime)
	if err != nil {
		return nil, err
	}
	return f.rewritten()
}

func (f *file) offset(p token.Pos) int { return f.set.PositionFor(p, false).Offset }

// position is where a problem is, for a reader.
func (f *file) position(p token.Pos) token.Position {
	at := f.set.PositionFor(p, false) // not what a //line comment says
	at.Filename = strings.TrimPrefix(at.Filename, "./")
	return at
}
