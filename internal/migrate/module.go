package migrate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// goVersion is what the go.mod of this library asks for. A module that requires it needs the same.
const goVersion = "1.26.0"

// module is a go.mod in the tree.
type module struct {
	name string // relative to the tree
	text []byte
	file *modfile.File

	moved bool // a file of it has an import that moves
	left  bool // a file of it goes on to import controller-runtime
}

func newModule(name string, text []byte) (*module, error) {
	parsed, err := modfile.Parse(name, text, nil)
	return &module{name: name, text: text, file: parsed}, err
}

// see looks at the imports of a file of the module.
func (m *module) see(f *file) {
	for _, i := range f.imports {
		m.moved = m.moved || i.moves()
		m.left = m.left || !i.moves()
	}
}

// needs reports whether the module needs this library because of what moves in another one, or in itself. A module
// names all modules that its packages come from, so it requires another one even if a third lies between the two.
func (m *module) needs(other *module) bool {
	return other.moved && (m == other || other.file.Module != nil && m.requires(other.file.Module.Mod.Path))
}

// ported returns the go.mod with this library among its requirements, and without controller-runtime if nobody
// imports it any more. What else changes is the work of `go mod tidy`.
func (m *module) ported(paths Paths, options Options) ([]byte, error) {
	if err := m.require(paths.OurRoot, options); err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if !m.left {
		if err := m.file.DropRequire(paths.TheirRoot); err != nil {
			return nil, err
		}
	}
	if m.file.Go == nil || semver.Compare("v"+m.file.Go.Version, "v"+goVersion) < 0 {
		if err := m.file.AddGoStmt(goVersion); err != nil {
			return nil, err
		}
		m.file.DropToolchainStmt() // it may be older
	}
	m.file.Cleanup()
	return m.file.Format()
}

func (m *module) require(library string, options Options) error {
	if options.Replace != "" {
		to, err := filepath.Abs(options.Replace)
		if err != nil {
			return err
		}
		if err := m.file.AddReplace(library, "", to, ""); err != nil {
			return err
		}
	}
	if m.requires(library) {
		return nil
	}
	version := options.Version
	if version == "" {
		if options.Replace == "" {
			return errors.New("this program was not installed from a release, so it does not know which version to require: name one with --version, or a checkout with --replace")
		}
		version = "v0.0.0-00010101000000-000000000000" // what the go command writes for a module that is replaced
	}
	if !semver.IsValid(version) {
		return fmt.Errorf("%q is not a version: versions look like v1.2.3", version)
	}
	m.file.SetRequireSeparateIndirect(append(m.file.Require, &modfile.Require{Mod: gomodule.Version{Path: library, Version: version}}))
	return nil
}

func (m *module) requires(library string) bool {
	return slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return r.Mod.Path == library })
}
