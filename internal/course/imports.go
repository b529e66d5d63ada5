package course

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rebuilt are the packages that this library is about. Importing one of them
// outside a test would be answering the question with the question.
var rebuilt = []string{
	"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue", "k8s.io/client-go/tools/leaderelection",
	"k8s.io/client-go/informers", "k8s.io/client-go/listers", "k8s.io/client-go/tools/record",
	"sigs.k8s.io/controller-runtime", "k8s.io/kubernetes",
}

// checkImports proves the import order: a file imports only packages that
// exist in the same or an earlier chapter.
//
// The ground floor counts as chapter 1: that is the first milestone that has to
// build it.
func (r *Repo) checkImports(files []string, owners Ownership) (Problems, error) {
	first := firstChapters(files, owners)
	var problems Problems
	for _, file := range sortedKeys(owners) {
		imports, err := r.imports(file)
		if err != nil {
			return nil, err
		}
		for _, imp := range imports {
			problems = append(problems, r.checkImport(file, owners[file], imp, first)...)
		}
	}
	return problems, nil
}

func (r *Repo) checkImport(file string, chapter int, imp string, first map[string]int) (problems Problems) {
	if !strings.HasSuffix(file, "_test.go") {
		for _, pkg := range rebuilt {
			if imp == pkg || strings.HasPrefix(imp, pkg+"/") {
				problems.add("%s imports %s, which this library rebuilds: use our own package (only tests may import the original)", file, imp)
			}
		}
	}
	dir := "."
	if imp != r.Module {
		rel, ours := strings.CutPrefix(imp, r.Module+"/")
		if !ours {
			return problems
		}
		dir = rel
	}
	switch from, known := first[dir]; {
	case !known:
		problems.add("%s imports %s, which has no Go files", file, imp)
	case from > 1 && chapter == 0:
		problems.add("%s is ground floor and imports %s, which starts in chapter %d: earlier milestones could not build it", file, imp, from)
	case from > max(chapter, 1):
		problems.add("%s belongs to chapter %d and imports %s, which starts in chapter %d: a chapter may use only itself and earlier ones", file, chapter, imp, from)
	}
	return problems
}

// firstChapters says in which chapter a package gets its first non-test file.
// A file that no chapter owns is reported elsewhere, and counts as the first
// here so that it is not reported twice.
func firstChapters(files []string, owners Ownership) map[string]int {
	first := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		dir := path.Dir(file)
		if have, ok := first[dir]; !ok || owners[file] < have {
			first[dir] = owners[file]
		}
	}
	return first
}

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
