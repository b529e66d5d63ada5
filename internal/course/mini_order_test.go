package course

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// A reader who writes mini file by file has only the files of the chapters before. So each file,
// with its tests, must compile without those that come later.
func TestEachFileOfMiniCompilesWithTheFilesBeforeIt(t *testing.T) {
	t.Parallel()
	r, err := Open("../..")
	require.NoError(t, err)
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedCompiledGoFiles,
		Dir:  r.Root, Tests: true, Fset: token.NewFileSet(),
	}, "./mini")
	require.NoError(t, err)
	library, tests := packageNamed(t, loaded, r.Module+"/mini"), packageNamed(t, loaded, r.Module+"/mini_test")

	known := []string{"doc", "world"} // the files so far, without their endings
	for _, name := range miniOrder {
		known = append(known, name)
		milestone := check(t, name, library, nil, known)
		check(t, name+"_test", tests, milestone, known)
	}
	for _, p := range []*packages.Package{library, tests} {
		for _, file := range p.CompiledGoFiles {
			require.Contains(t, known, stem(file), "%s is in no chapter: add it to miniOrder", path.Base(file))
		}
	}
}

// check compiles those files of a package that belong to the chapters so far. A test imports the
// milestone in the place of the whole package.
func check(t *testing.T, name string, p *packages.Package, milestone *types.Package, known []string) *types.Package {
	t.Helper()
	var files []*ast.File
	for _, file := range p.Syntax {
		if slices.Contains(known, stem(p.Fset.File(file.Pos()).Name())) {
			files = append(files, file)
		}
	}
	config := types.Config{Importer: importer(func(name string) *types.Package {
		if milestone != nil && name == milestone.Path() {
			return milestone
		}
		return p.Imports[name].Types
	})}
	checked, err := config.Check(strings.TrimSuffix(p.PkgPath, "_test"), p.Fset, files, nil)
	require.NoError(t, err, "the files up to %s", name)
	return checked
}

type importer func(name string) *types.Package

func (i importer) Import(name string) (*types.Package, error) { return i(name), nil }

// stem is "queue" for queue.go, queue_test.go, queue_bench_test.go and queue_figure_test.go.
func stem(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	for _, ending := range []string{"_test", "_bench", "_figure"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

func packageNamed(t *testing.T, all []*packages.Package, name string) *packages.Package {
	t.Helper()
	for _, p := range all {
		if p.PkgPath == name {
			require.Empty(t, p.Errors)
			return p
		}
	}
	t.Fatalf("there is no package %s", name)
	return nil
}
