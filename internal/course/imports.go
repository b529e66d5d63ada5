package course

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

func (r *Repo) imports(file string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), r.Abs(file), nil, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("reading the imports of %s: %w", file, err)
	}
	var imports []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("reading the imports of %s: %w", file, err)
		}
		imports = append(imports, p)
	}
	return imports, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
