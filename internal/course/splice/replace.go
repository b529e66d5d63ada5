package splice

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"slices"
	"strings"
)

// Changed is what a whole file has in other words than the base, or in addition to it, as a patch of the base.
//
// Caveats: what the file lacks is not in the patch, so the base's stays. That makes no difference to a file that compiles
// in the place of the base.
func Changed(base, file *File) *File {
	patch := *file
	patch.Decls = nil
	for _, d := range file.Decls {
		if old, known := base.replacedBy(d); !known || base.code(old) != file.code(d) {
			patch.Decls = append(patch.Decls, d)
		}
	}
	return &patch
}

// Replace returns the base with the patch's declarations in place of its own;
// those that the base does not have follow at the end. Imports are the union of
// both, without those that are no longer needed.
//
// The text is for the compiler: it has //line directives, so that every
// position is that of the file from which the line comes. Render is for people.
func Replace(base, patch *File) ([]byte, error) {
	return splice(base, patch, true)
}

// Render returns what Replace does, as gofmt writes it and without directives. A
// declaration without a comment gets that of the one that it replaces.
func Render(base, patch *File) ([]byte, error) {
	text, err := splice(base, patch, false)
	if err != nil {
		return nil, err
	}
	return format.Source(text)
}

func splice(base, patch *File, lines bool) ([]byte, error) {
	imports, err := merge(base.imports(), patch.imports())
	if err != nil {
		return nil, err
	}
	w := &writer{base: base, lines: lines}
	var added []Decl
	for _, d := range patch.Decls {
		old, ok := base.replacedBy(d)
		if !ok {
			added = append(added, d)
			continue
		}
		start := old.start
		if !lines && d.start == patch.offset(d.node.Pos()) {
			start = base.offset(old.node.Pos()) // people want to keep the comment
		}
		w.edits = append(w.edits, edit{start, old.end, w.foreign(patch, d)})
	}
	for _, d := range added {
		w.tail += w.foreign(patch, d)
	}
	return w.file(imports)
}

// edit replaces a part of the base's text.
type edit struct {
	start, end int
	text       string
}

// writer puts a file together from the base, the edits to it, and what is added.
type writer struct {
	base  *File
	lines bool
	edits []edit
	tail  string
}

// foreign is the text of another file's declaration, on lines of its own.
func (w *writer) foreign(f *File, d Decl) string {
	return w.at(f, d.start) + string(f.Text(d)) + "\n"
}

// at says where the next line comes from.
func (w *writer) at(f *File, offset int) string {
	if !w.lines || f.Name == "" {
		return ""
	}
	return fmt.Sprintf("//line %s:%d:1\n", f.Name, f.line(offset))
}

// file returns the whole text.
func (w *writer) file(imports []imported) ([]byte, error) {
	head := w.base.offset(w.base.ast.Name.End())
	start := head
	for _, decl := range w.base.ast.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.IMPORT {
			start = w.base.offset(group.End())
		}
	}
	body := w.body(start) + w.tail
	imports, err := used(imports, body)
	if err != nil {
		return nil, err
	}
	return []byte(string(w.base.text[:head]) + "\n\n" + block(imports) + body), nil
}

// body is the base from a place on, with the edits.
func (w *writer) body(from int) string {
	slices.SortFunc(w.edits, func(a, b edit) int { return a.start - b.start })
	var out strings.Builder
	// What follows on a line begins with the line's end; it is skipped, so that
	// the directive has a line of its own.
	text := func(from, to int) {
		if from < to && w.base.text[from] == '\n' {
			from++
			out.WriteString("\n")
		}
		out.WriteString(w.at(w.base, from))
		out.Write(w.base.text[from:to])
	}
	for _, e := range w.edits {
		text(from, e.start)
		out.WriteString(e.text)
		from = e.end
		if from < len(w.base.text) && w.base.text[from] == '\n' {
			from++
		}
	}
	text(from, len(w.base.text))
	return out.String()
}
