package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

// program is one of the directories of ../../users, as it is or as the port command makes it.
type program struct {
	name  string
	set   *token.FileSet
	files []*ast.File
}

// parsePrograms reads all programs; change says what becomes of the text of their files.
func parsePrograms(t *testing.T, change func(name string, text []byte) ([]byte, error)) (programs []*program) {
	t.Helper()
	users := filepath.Join("..", "..", "users")
	entries, err := os.ReadDir(users)
	require.NoError(t, err)
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		p := &program{name: entry.Name(), set: token.NewFileSet()}
		files, err := filepath.Glob(filepath.Join(users, entry.Name(), "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			text, err = change(file, text)
			require.NoError(t, err)
			parsed, err := parser.ParseFile(p.set, file, text, parser.SkipObjectResolution)
			require.NoError(t, err)
			p.files = append(p.files, parsed)
		}
		programs = append(programs, p)
	}
	return programs
}

func asTheyAre(_ string, text []byte) ([]byte, error) { return text, nil }

// imports lists what the program imports.
func (p *program) imports() (importPaths []string) {
	for _, file := range p.files {
		for _, spec := range file.Imports {
			importPath, _ := strconv.Unquote(spec.Path.Value)
			importPaths = append(importPaths, importPath)
		}
	}
	slices.Sort(importPaths)
	return slices.Compact(importPaths)
}

// check type-checks the program.
func (p *program) check(loaded map[string]*types.Package) (problems []string) {
	config := types.Config{
		Importer: importer(func(importPath string) (*types.Package, error) {
			if found := loaded[importPath]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("there is no package %s", importPath)
		}),
		Error: func(err error) { problems = append(problems, err.Error()) },
	}
	_, _ = config.Check(p.name, p.set, p.files, nil) // the errors are in problems
	return problems
}

type importer func(string) (*types.Package, error)

func (i importer) Import(importPath string) (*types.Package, error) { return i(importPath) }

// TestUsersFilesCompileAfterTheyArePorted holds what README and architecture promise: a user changes
// import paths and nothing else.
func TestUsersFilesCompileAfterTheyArePorted(t *testing.T) {
	root, err := api.ModuleRoot()
	require.NoError(t, err)
	original, ported := parsePrograms(t, asTheyAre), parsePrograms(t, migrate.File)
	require.NotEmpty(t, original)
	var wanted []string
	for i := range original {
		wanted = append(wanted, append(original[i].imports(), ported[i].imports()...)...)
	}
	slices.Sort(wanted)
	loaded, err := api.Load(root, slices.Compact(wanted))
	require.NoError(t, err)
	for i, p := range original {
		t.Run(p.name, func(t *testing.T) {
			require.Empty(t, p.check(loaded), "with controller-runtime")
			assert.Empty(t, ported[i].check(loaded), "with this library")
			for _, importPath := range ported[i].imports() {
				assert.False(t, real.IsTheirs(importPath), "%s still imports %s", p.name, importPath)
			}
		})
	}
}
