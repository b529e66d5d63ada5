package main

import (
	"fmt"
	"go/build"
	"go/types"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/loopwright/loopwright/internal/migrate"
)

// places says where both sides are, and which import path of theirs becomes which of ours.
type places struct {
	migrate.Paths
	object, request string // what non-Typed names have in the place of type parameters
}

// name is what the report calls one of their packages.
func (p places) name(theirs string) string {
	if theirs == p.TheirRoot {
		return path.Base(theirs)
	}
	return strings.TrimPrefix(theirs, p.Theirs+"/")
}

// packagesOf lists the packages below an import path that a user may import.
func packagesOf(dir, importPath string) ([]string, error) {
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

// versionOf returns the version of a module that go.mod asks for.
func versionOf(dir, module string) (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module)
	list.Dir = dir
	out, err := list.Output()
	return strings.TrimSpace(string(out)), err
}

// load type-checks packages. One call is for all of them, so that a type that both sides borrow
// from somebody else is one type.
func load(dir string, importPaths []string) (map[string]*types.Package, error) {
	config := &packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}
	list, err := packages.Load(config, importPaths...)
	if err != nil {
		return nil, err
	}
	loaded := map[string]*types.Package{}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		loaded[p.PkgPath] = p.Types
	}
	return loaded, nil
}
