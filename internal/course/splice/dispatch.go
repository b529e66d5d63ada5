package splice

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Dispatch returns a file that holds the base and every patch at once. Each
// function of which there is more than one version only calls the version that
// the environment variable env selects: "1" is the first patch, and anything
// else is the base. The program reads the variable once, when it starts.
//
// Some patches cannot be selected at run time: those with another type,
// constant or signature, with an init function, or with a helper whose name is
// taken. They are left out and returned, as indices with the reason. They need
// Replace, and a compilation of their own.
//
// Caveats: a call takes longer by a comparison, and what escapes to the heap in
// one version escapes in all. So prove first that the base passes in this form.
func Dispatch(base *File, patches []*File, env string) (text []byte, apart map[int]string, err error) {
	apart = map[int]string{}
	imports, err := merge(base.imports(), []imported{{"os__", "os"}, {"strconv__", "strconv"}})
	if err != nil {
		return nil, nil, err
	}
	versions := map[string][]version{}
	taken := map[string]bool{}
	var added []version
	for i, patch := range patches {
		if reason := separate(base, patch, taken); reason != "" {
			apart[i] = reason
			continue
		}
		merged, err := merge(imports, patch.imports())
		if err != nil {
			apart[i] = err.Error()
			continue
		}
		imports = merged
		for _, d := range patch.Decls {
			v := version{i + 1, patch, d}
			if _, ok := base.replacedBy(d); ok {
				versions[d.Names[0]] = append(versions[d.Names[0]], v)
				continue
			}
			added = append(added, v)
			taken[d.Names[0]] = true
		}
	}
	w := &writer{base: base, lines: true}
	for _, d := range base.Decls {
		if alternatives := versions[d.Names[0]]; d.Func != nil && len(alternatives) > 0 {
			w.edits = append(w.edits, edit{d.start, d.end, w.dispatch(d, alternatives)})
		}
	}
	for _, v := range added {
		w.tail += w.foreign(v.file, v.decl)
	}
	w.tail += fmt.Sprintf("\nvar variant__, _ = strconv__.Atoi(os__.Getenv(%q))\n", env)
	text, err = w.file(imports)
	return text, apart, err
}

// version is a function as a patch has it.
type version struct {
	number int
	file   *File
	decl   Decl
}

// separate says why a patch cannot be selected at run time; "" if it can.
func separate(base, patch *File, taken map[string]bool) string {
	for _, d := range patch.Decls {
		names := strings.Join(d.Names, ", ")
		old, known := base.replacedBy(d)
		switch {
		case d.Func == nil:
			return names + " is no function"
		case d.Func.Body == nil || d.Names[0] == "init" || d.Names[0] == "_":
			return names + " cannot be called"
		case !known && taken[d.Names[0]]:
			return names + " is a helper of another patch, too"
		case !known && d.Func.Recv == nil && isTaken(base, d.Names[0]):
			return names + " is taken"
		case !known && d.Func.Recv != nil && base.selects(d.Func.Name.Name):
			return names + " may hide a method that is promoted"
		case !known:
		case old.Func == nil || old.Func.Body == nil:
			return names + " is no function in the base"
		case base.signature(old) != patch.signature(d):
			return names + " has another signature"
		}
	}
	return ""
}

// selects reports whether the file, or a caller of its package, may select something of this name. If a
// patch adds a method to a type that embeds one of that name, all versions call the new one.
func (f *File) selects(name string) bool {
	found := ast.IsExported(name)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		found = found || is && selector.Sel.Name == name
		return !found
	})
	return found
}

func isTaken(base *File, name string) bool {
	_, ok := base.Find(name)
	return ok
}

// signature is what two versions must have in common: the types, in the words
// in which they are written, but not the names of receiver and parameters.
func (f *File) signature(d Decl) string {
	fn := d.Func
	var parts []string
	if fn.Recv != nil {
		parts = append(parts, f.types(fn.Recv)...)
	}
	parts = append(parts, "[", f.source(fn.Type.TypeParams), "](")
	parts = append(parts, f.types(fn.Type.Params)...)
	parts = append(parts, ")")
	return strings.Join(append(parts, f.types(fn.Type.Results)...), " ")
}

// types lists the type of each parameter.
func (f *File) types(fields *ast.FieldList) []string {
	var types []string
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		text := string(f.text[f.offset(field.Type.Pos()):f.offset(field.Type.End())])
		types = append(types, slices.Repeat([]string{text}, max(1, len(field.Names)))...)
	}
	return types
}

func (f *File) source(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	return string(f.text[f.offset(fields.Pos()):f.offset(fields.End())])
}

// dispatch returns the base's function under another name, every version, and a
// function under the old name that calls one of them.
func (w *writer) dispatch(d Decl, alternatives []version) string {
	var out strings.Builder
	named := func(f *File, d Decl, number int) {
		name := d.Func.Name
		out.WriteString(w.at(f, d.start))
		out.Write(f.text[d.start:f.offset(name.End())])
		fmt.Fprintf(&out, "__%d", number)
		out.Write(f.text[f.offset(name.End()):d.end])
		out.WriteString("\n")
	}
	named(w.base, d, 0)
	for _, v := range alternatives {
		named(v.file, v.decl, v.number)
	}

	fn := d.Func
	out.WriteString(w.at(w.base, w.base.offset(fn.Pos())) + "func ")
	callee := fn.Name.Name
	if fn.Recv != nil {
		fmt.Fprintf(&out, "(r__ %s) ", w.base.types(fn.Recv)[0])
		callee = "r__." + callee
	}
	var params, args []string
	for i, t := range w.base.types(fn.Type.Params) {
		params = append(params, fmt.Sprintf("p%d__ %s", i, t))
		args = append(args, fmt.Sprintf("p%d__", i))
		if strings.HasPrefix(t, "...") {
			args[i] += "..."
		}
	}
	results := strings.Join(w.base.types(fn.Type.Results), ", ")
	fmt.Fprintf(&out, "%s%s(%s) (%s) {\n\tswitch variant__ {\n", fn.Name.Name, w.base.source(fn.Type.TypeParams), strings.Join(params, ", "), results)
	call := func(number int) {
		keyword := ""
		if results != "" {
			keyword = "return "
		}
		fmt.Fprintf(&out, "\t\t%s%s__%d%s(%s)\n", keyword, callee, number, typeArgs(fn), strings.Join(args, ", "))
	}
	for _, v := range alternatives {
		fmt.Fprintf(&out, "\tcase %d:\n", v.number)
		call(v.number)
	}
	out.WriteString("\tdefault:\n")
	call(0)
	out.WriteString("\t}\n}\n")
	return out.String()
}

// typeArgs passes a function's type parameters on.
func typeArgs(fn *ast.FuncDecl) string {
	if fn.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, field := range fn.Type.TypeParams.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}
