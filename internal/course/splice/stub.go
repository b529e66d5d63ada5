package splice

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// StubMark is the comment in the body of an emptied function.
const StubMark = "// Yours to write."

// Stub returns a patch for the base in which the bodies of these functions are
// empty but for the mark, and a return of zero values. Their comments stay.
func Stub(base *File, functions []string) (*File, error) {
	text := "package " + base.ast.Name.Name + "\n"
	for _, one := range base.imports() {
		text += "import " + one.String() + "\n"
	}
	for _, name := range functions {
		d, ok := base.Find(name)
		if !ok || d.Func == nil || d.Func.Body == nil {
			return nil, fmt.Errorf("there is no function %s", name)
		}
		head := strings.TrimRight(string(base.text[d.start:base.offset(d.Func.Body.Pos())]), " ")
		text += "\n" + head + " {\n\t" + StubMark + "\n" + base.zeroReturn(d.Func) + "}\n"
	}
	return Parse("", []byte(text))
}

// Missing lists the packages that one file imports and the other does not.
func Missing(from, in *File) []string {
	var missing []string
	have := in.imports()
	for _, one := range from.imports() {
		if !slices.Contains(have, one) {
			missing = append(missing, one.String())
		}
	}
	return missing
}

// Bytes is the text of the file.
func (f *File) Bytes() []byte { return f.text }

// zeroReturn is what an empty function returns.
func (f *File) zeroReturn(fn *ast.FuncDecl) string {
	if fn.Type.Results == nil {
		return ""
	}
	var vars, values []string
	for _, field := range fn.Type.Results.List {
		typ := string(f.text[f.offset(field.Type.Pos()):f.offset(field.Type.End())])
		names := field.Names
		if len(names) == 0 {
			names = []*ast.Ident{{Name: "_"}}
		}
		for _, name := range names {
			value := zero(field.Type)
			switch {
			case name.Name != "_":
				value = name.Name
			case value == "":
				value = fmt.Sprintf("result%d", len(vars)+1)
				vars = append(vars, "\tvar "+value+" "+typ+"\n")
			}
			values = append(values, value)
		}
	}
	if len(vars) == 1 && !takes(fn, "result") {
		vars[0] = strings.Replace(vars[0], "result1", "result", 1)
		values[slices.Index(values, "result1")] = "result"
	}
	return strings.Join(vars, "") + "\treturn " + strings.Join(values, ", ") + "\n"
}

// takes reports whether a function has a parameter of this name.
func takes(fn *ast.FuncDecl, name string) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(field *ast.Field) bool {
		return slices.ContainsFunc(field.Names, func(one *ast.Ident) bool { return one.Name == name })
	})
}

// zero is the zero value of a type in Go's words; "" if the type's name does not
// tell.
func zero(typ ast.Expr) string {
	switch t := typ.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
		return "nil"
	case *ast.ArrayType:
		if t.Len == nil {
			return "nil"
		}
	case *ast.Ident:
		switch t.Name {
		case "bool":
			return "false"
		case "string":
			return `""`
		case "error", "any":
			return "nil"
		case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "byte", "rune", "float32", "float64":
			return "0"
		}
	}
	return ""
}
