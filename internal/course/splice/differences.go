package splice

import "strings"

// Difference is a declaration that other files may use, and that a file lacks or has in another form.
type Difference struct {
	Name   string // "Queue.Add"
	Wanted string // how the base declares it: "func (q *Queue) Add(item string)", or "type Queue"
	Yours  string // how the file declares it; empty if it doesn't
}

// Differences lists what a file declares otherwise than the base, without the bodies of functions.
func Differences(base, file *File) (all []Difference) {
	for _, d := range base.Decls {
		for _, name := range d.Names {
			found, ok := file.Find(name)
			switch {
			case name == "_":
			case !ok:
				all = append(all, Difference{name, base.head(d, name), ""})
			case d.Func != nil && found.Func != nil && base.signature(d) == file.signature(found):
			case d.Func == nil && found.Func == nil && base.code(d) == file.code(found):
			default:
				all = append(all, Difference{name, base.head(d, name), file.head(found, name)})
			}
		}
	}
	return all
}

// head is a declaration without what it consists of.
func (f *File) head(d Decl, name string) string {
	if d.Func == nil {
		keyword, _, _ := strings.Cut(string(f.text[f.offset(d.node.Pos()):f.offset(d.node.End())]), " ")
		return keyword + " " + name
	}
	return strings.Join(strings.Fields(string(f.text[f.offset(d.Func.Pos()):f.offset(d.Func.Type.End())])), " ")
}
