package migrate

import (
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is what a directory holds that may have to change.
type tree struct {
	sources []source
	modules []*module // sorted by name
	notes   []Problem
}

// source is a file, as it was.
type source struct {
	name string // relative to the tree, with slashes
	text []byte
}

// readTree finds the Go files and the go.mods of a tree. It leaves out what the go command leaves out, and what
// belongs to somebody else: hidden directories, testdata and vendor.
func readTree(dir string) (*tree, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the directory of its go.mod", dir)
	}
	found := &tree{}
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		relative, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		if entry.IsDir() {
			return found.directory(name)
		}
		isSource := path.Ext(name) == ".go" || path.Base(name) == "go.mod"
		if entry.Type()&fs.ModeSymlink != 0 {
			found.link(at, name, isSource)
			return nil
		}
		if !entry.Type().IsRegular() || !isSource {
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".go" {
			found.sources = append(found.sources, source{name, text})
			return nil
		}
		made, err := newModule(name, text)
		found.modules = append(found.modules, made)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found.sources) == 0 {
		return nil, fmt.Errorf("%s has no Go files", dir)
	}
	return found, nil
}

// moduleOf returns the module that a file belongs to: the innermost of those around it, or nil.
func (t *tree) moduleOf(name string) *module {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		at := slices.IndexFunc(t.modules, func(m *module) bool { return path.Dir(m.name) == dir })
		if at >= 0 {
			return t.modules[at]
		}
		if dir == "." {
			return nil
		}
	}
}

// link notes a link to sources.
func (t *tree) link(at, name string, isSource bool) {
	if to, err := os.Stat(at); isSource || err == nil && to.IsDir() {
		t.notes = append(t.notes, Problem{At: token.Position{Filename: name}, What: "a link",
			Why: "what it leads to is not changed, unless that is in this tree, too"})
	}
}

func (t *tree) directory(name string) error {
	base := path.Base(name)
	if base == "vendor" {
		t.notes = append(t.notes, Problem{At: token.Position{Filename: name}, What: "a copy of other modules",
			Why: "it is not changed: run `go mod tidy` and `go mod vendor`"})
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	return nil
}
