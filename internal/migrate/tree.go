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
		isSource := isSourceName(name)
		if entry.Type()&fs.ModeSymlink != 0 {
			isSource = found.link(dir, at, name, isSource)
		} else if !entry.Type().IsRegular() {
			return nil
		}
		if !isSource {
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

// link reports whether what a link leads to is to be read in its place: a file that isn't changed under a name of its
// own. The go command compiles a link like any file. It doesn't look for packages in a link to a directory.
func (t *tree) link(dir, at, name string, isSource bool) bool {
	info, err := os.Stat(at)
	why := ""
	switch {
	case err != nil && isSource:
		why = "it leads nowhere, so the go command cannot read it"
	case err == nil && info.IsDir():
		why = "what it leads to is not changed, unless that is in this tree, too"
	case isSource && !changesByItself(dir, at):
		why = "it becomes a file if it has to change; what it leads to stays as it is"
	default:
		return false
	}
	t.notes = append(t.notes, Problem{At: token.Position{Filename: name}, What: "a link", Why: why})
	return err == nil && info.Mode().IsRegular()
}

// changesByItself reports whether a link leads to a file that readTree finds, too.
func changesByItself(dir, at string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	to, err := filepath.EvalSymlinks(at)
	if err != nil || !isSourceName(to) {
		return false
	}
	relative, err := filepath.Rel(root, to)
	if err != nil {
		return false
	}
	directories := strings.Split(filepath.ToSlash(filepath.Dir(relative)), "/")
	return !slices.ContainsFunc(directories, isLeftOut) // nor is ".."
}

func (t *tree) directory(name string) error {
	base := path.Base(name)
	if base == "vendor" {
		t.notes = append(t.notes, Problem{At: token.Position{Filename: name}, What: "a copy of other modules",
			Why: "it is not changed: run `go mod tidy` and `go mod vendor`"})
	}
	if isLeftOut(base) {
		return fs.SkipDir
	}
	return nil
}

func isSourceName(name string) bool { return path.Ext(name) == ".go" || path.Base(name) == "go.mod" }

// isLeftOut reports whether readTree leaves a directory of that name out.
func isLeftOut(name string) bool {
	return name != "." && strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"
}
