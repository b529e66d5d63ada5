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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is one of the directories of ../../users.
type program struct {
	name  string
	set   *token.FileSet
	files []*ast.File
}

func parsePrograms(t *testing.T) (programs []*program) {
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
			parsed, err := parser.ParseFile(p.set, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			p.files = append(p.files, parsed)
		}
		programs = append(programs, p)
	}
	return programs
}

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

// replaced is the import path of ours for one of a user's.
func replaced(importPath string) string {
	if ours, ok := real.counterpart(importPath); ok {
		return ours
	}
	return importPath
}

// check type-checks the program, with other import paths if replace says so.
func (p *program) check(loaded map[string]*types.Package, replace func(string) string) (problems []string) {
	config := types.Config{
		Importer: importer(func(importPath string) (*types.Package, error) {
			if found := loaded[replace(importPath)]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("there is no package %s", replace(importPath))
		}),
		Error: func(err error) { problems = append(problems, err.Error()) },
	}
	_, _ = config.Check(p.name, p.set, p.files, nil) // the errors are in problems
	return problems
}

type importer func(string) (*types.Package, error)

func (i importer) Import(importPath string) (*types.Package, error) { return i(importPath) }

// TestUsersFilesCompileAfterTheirImportPathsAreReplaced holds what README and architecture
// promise: a user changes import paths and nothing else.
func TestUsersFilesCompileAfterTheirImportPathsAreReplaced(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	programs := parsePrograms(t)
	require.NotEmpty(t, programs)
	var wanted []string
	for _, p := range programs {
		for _, importPath := range p.imports() {
			wanted = append(wanted, importPath, replaced(importPath))
		}
	}
	slices.Sort(wanted)
	loaded, err := load(root, slices.Compact(wanted))
	require.NoError(t, err)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			require.Empty(t, p.check(loaded, func(same string) string { return same }), "with controller-runtime")
			assert.Empty(t, p.check(loaded, replaced), "with this library")
		})
	}
}

// TestUsersFilesMentionNoTypedName holds that the programs are what is promised, and no more.
func TestUsersFilesMentionNoTypedName(t *testing.T) {
	for _, p := range parsePrograms(t) {
		for _, file := range p.files {
			theirs := map[string]bool{} // the names under which the file has their packages
			for _, spec := range file.Imports {
				importPath, _ := strconv.Unquote(spec.Path.Value)
				if !real.isTheirs(importPath) {
					continue
				}
				name := importPath[strings.LastIndex(importPath, "/")+1:]
				if spec.Name != nil {
					name = spec.Name.Name
				}
				theirs[name] = true
			}
			for node := range ast.Preorder(file) {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				if in, ok := selector.X.(*ast.Ident); ok && theirs[in.Name] {
					assert.False(t, typed.MatchString(selector.Sel.Name), "%s: %s.%s", p.set.Position(selector.Pos()), in.Name, selector.Sel.Name)
				}
			}
		}
	}
}
