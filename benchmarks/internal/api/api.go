// Package api reads what controller-runtime's packages export, and what ours do. Command apidiff
// compares the two; command dropin writes a controller-runtime that forwards to ours.
package api

import (
	"errors"
	"fmt"
	"go/build"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/loopwright/loopwright/internal/migrate"
)

// Name is what the reports call one of their packages.
func Name(paths migrate.Paths, theirs string) string {
	if theirs == paths.TheirRoot {
		return path.Base(theirs)
	}
	return strings.TrimPrefix(theirs, paths.Theirs+"/")
}

// ModuleRoot is the directory of the benchmarks' go.mod, which has both sides. It's at or above the
// current directory.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "apidiff", "explained.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run it in benchmarks/")
		}
		dir = filepath.Dir(dir)
	}
}

// PackagesOf lists the packages below an import path that a user may import.
func PackagesOf(dir, importPath string) ([]string, error) {
	root, err := directory(dir, importPath)
	if err != nil {
		return nil, err
	}
	var found []string
	err = filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if slices.Contains([]string{"internal", "testdata"}, entry.Name()) {
			return fs.SkipDir
		}
		if p, err := build.ImportDir(at, 0); err == nil && p.Name != "main" {
			below, err := filepath.Rel(root, at)
			if err != nil {
				return err
			}
			found = append(found, path.Join(importPath, filepath.ToSlash(below)))
		}
		return nil
	})
	return found, err
}

// directory finds the directory of an import path, which need not be a package itself.
func directory(dir, importPath string) (string, error) {
	for module := importPath; module != "."; module = path.Dir(module) {
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
		list.Dir = dir
		if out, err := list.Output(); err == nil {
			return filepath.Join(strings.TrimSpace(string(out)), strings.TrimPrefix(importPath, module)), nil
		}
	}
	return "", fmt.Errorf("no module in go.mod has %s", importPath)
}

// VersionOf returns the version of a module that go.mod asks for.
func VersionOf(dir, module string) (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module)
	list.Dir = dir
	out, err := list.Output()
	return strings.TrimSpace(string(out)), err
}

// Load type-checks packages. One call is for all of them, so that a type that both sides borrow
// from somebody else is one type.
func Load(dir string, importPaths []string) (map[string]*types.Package, error) {
	return load(dir, importPaths, 0)
}

// LoadWithImports also returns what the packages import, directly or not.
func LoadWithImports(dir string, importPaths []string) (map[string]*types.Package, error) {
	return load(dir, importPaths, packages.NeedDeps)
}

func load(dir string, importPaths []string, more packages.LoadMode) (map[string]*types.Package, error) {
	config := &packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | more}
	list, err := packages.Load(config, importPaths...)
	if err != nil {
		return nil, err
	}
	loaded := map[string]*types.Package{}
	packages.Visit(list, func(p *packages.Package) bool {
		if len(p.Errors) > 0 && err == nil {
			err = fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		if p.Types != nil {
			loaded[p.PkgPath] = p.Types
		}
		return more != 0
	}, nil)
	return loaded, err
}
