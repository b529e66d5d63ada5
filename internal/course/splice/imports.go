package splice

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// imported is one import.
type imported struct {
	name string // as written; "" for the package's own name
	path string
}

func (i imported) String() string {
	if i.name == "" {
		return strconv.Quote(i.path)
	}
	return i.name + " " + strconv.Quote(i.path)
}

var major = regexp.MustCompile(`^v[0-9]+$`)

// names are those by which a file may call the package. The path alone does not
// tell: k8s.io/api/core/v1 is package v1, and example.com/yaml/v3 is package yaml.
func (i imported) names() []string {
	if i.name != "" {
		return []string{i.name}
	}
	last := path.Base(i.path)
	names := []string{last}
	if major.MatchString(last) {
		names = append(names, path.Base(path.Dir(i.path)))
	}
	for _, name := range names {
		stem, _, _ := strings.Cut(name, ".") // gopkg.in/yaml.v3
		names = append(names, stem, strings.TrimPrefix(stem, "go-"), strings.TrimSuffix(stem, "-go"), strings.ReplaceAll(stem, "-", ""))
	}
	return names
}

func (f *File) imports() []imported {
	var all []imported
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it already
		}
		one := imported{path: p}
		if spec.Name != nil {
			one.name = spec.Name.Name
		}
		all = append(all, one)
	}
	return all
}

// merge adds imports that are not there yet. One that gives a name to another
// path than before is an error.
func merge(all, more []imported) ([]imported, error) {
	for _, one := range more {
		if slices.Contains(all, one) {
			continue
		}
		for _, other := range all {
			if other.names()[0] == one.names()[0] && other.path != one.path && one.name != "_" && one.name != "." {
				return all, fmt.Errorf("%s is an import of %s and of %s", one.names()[0], other.path, one.path)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// used leaves out the imports that a body of declarations does not need.
func used(all []imported, body string) ([]imported, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p;"+body, 0)
	if err != nil {
		return nil, fmt.Errorf("putting a file together: %w", err)
	}
	needed := map[string]bool{}
	// What the parser cannot resolve within the file may be a package. So a
	// parameter that is called time is no use of package time.
	unresolved := map[*ast.Ident]bool{}
	for _, id := range parsed.Unresolved {
		unresolved[id] = true
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
				needed[id.Name] = true
			}
		}
		return true
	})
	var kept []imported
	for _, one := range all {
		special := one.name == "_" || one.name == "."
		if special || slices.ContainsFunc(one.names(), func(name string) bool { return needed[name] }) {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// block writes imports as gofmt does, the standard library first.
func block(all []imported) string {
	if len(all) == 0 {
		return ""
	}
	if len(all) == 1 {
		return "import " + all[0].String() + "\n"
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b imported) int {
		if a.foreign() != b.foreign() {
			if b.foreign() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	var out strings.Builder
	out.WriteString("import (\n")
	for i, one := range sorted {
		if i > 0 && one.foreign() && !sorted[i-1].foreign() {
			out.WriteString("\n")
		}
		out.WriteString("\t" + one.String() + "\n")
	}
	out.WriteString(")\n")
	return out.String()
}

func (i imported) foreign() bool {
	host, _, _ := strings.Cut(i.path, "/")
	return strings.Contains(host, ".")
}
