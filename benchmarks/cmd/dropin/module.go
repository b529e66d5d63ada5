package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

// module is the drop-in.
type module struct {
	paths   migrate.Paths
	version string // of controller-runtime
	dir     string // where it is
	reasons *reasons

	theirs   []string                  // the import paths of their packages, sorted
	loaded   map[string]*types.Package // both sides, and all that they import
	packages map[string]*pkg           // by their import path; a nil one is being made
	set      *token.FileSet
}

// pkg is one of the drop-in's packages.
type pkg struct {
	*module
	path        string
	theirs      *types.Package
	counterpart *types.Package    // ours
	names       map[string]string // under which its file imports other packages, by import path
	byHand      []*ast.File
	declared    []*declaration // sorted by name
	lacks       []lack
	compiled    *types.Package
}

// lack is a name of theirs that can't be forwarded.
type lack struct{ name, problem string }

// read reads both sides. Dir has the go.mod that requires both.
func (m *module) read(dir string) error {
	below, err := api.PackagesOf(dir, m.paths.Theirs)
	if err != nil {
		return err
	}
	var all []string
	for _, theirs := range append(below, m.paths.TheirRoot) {
		if counterpart, ok := m.paths.Counterpart(theirs); ok { // the others hold nothing but a comment
			m.theirs = append(m.theirs, theirs)
			all = append(all, theirs, counterpart)
		}
	}
	slices.Sort(m.theirs)
	m.loaded, err = api.LoadWithImports(dir, all)
	return err
}

// generate makes all packages, after read.
func (m *module) generate() error {
	m.packages, m.set = map[string]*pkg{}, token.NewFileSet()
	for _, theirs := range m.theirs {
		if _, err := m.Import(theirs); err != nil {
			return err
		}
	}
	return nil
}

// Import returns one of the drop-in's packages, which it makes if nobody has before, or one that the
// drop-in uses. It's the importer of the compiler, so packages are made in the order of their imports.
func (m *module) Import(importPath string) (*types.Package, error) {
	if !slices.Contains(m.theirs, importPath) {
		if p := m.loaded[importPath]; p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("neither side imports %s", importPath)
	}
	if p, begun := m.packages[importPath]; begun {
		if p == nil {
			return nil, fmt.Errorf("an import cycle through %s", importPath)
		}
		return p.compiled, nil
	}
	m.packages[importPath] = nil
	p, err := m.make(importPath)
	if err != nil {
		return nil, err
	}
	m.packages[importPath] = p
	return p.compiled, nil
}

func (m *module) make(importPath string) (*pkg, error) {
	counterpart, _ := m.paths.Counterpart(importPath)
	p := &pkg{module: m, path: importPath, theirs: m.loaded[importPath], counterpart: m.loaded[counterpart],
		names: map[string]string{counterpart: ours}}
	if p.counterpart == nil {
		return nil, fmt.Errorf("there is no package %s", counterpart)
	}
	if err := p.readByHand(); err != nil {
		return nil, err
	}
	handmade := p.handmade()
	for _, name := range p.theirs.Scope().Names() {
		if !token.IsExported(name) || slices.Contains(handmade, name) {
			continue
		}
		if d, err := p.forward(p.theirs.Scope().Lookup(name)); err != nil {
			p.lacks = append(p.lacks, lack{name, err.Error()})
		} else {
			p.declared = append(p.declared, d)
		}
	}
	return p, p.compile()
}

// hidden reports whether a package is theirs, and nobody else may import it.
func (m *module) hidden(importPath string) bool {
	return (importPath == m.paths.TheirRoot || strings.HasPrefix(importPath, m.paths.TheirRoot+"/")) &&
		!slices.Contains(m.theirs, importPath)
}

// directory is where a package of the drop-in is, relative to its go.mod.
func (p *pkg) directory() string {
	return filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(p.path, p.paths.TheirRoot), "/"))
}

// readByHand parses the files of the package that weren't generated.
func (p *pkg) readByHand() error {
	files, err := filepath.Glob(filepath.Join(p.dir, p.directory(), "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(p.set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(file) {
			p.byHand = append(p.byHand, file)
		}
	}
	return nil
}

// handmade lists the exported names that the package's files declare that weren't generated.
func (p *pkg) handmade() []string {
	names := map[string]bool{}
	for _, file := range p.byHand {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[d.Name.Name] = d.Recv == nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	maps.DeleteFunc(names, func(name string, declared bool) bool { return !declared || !token.IsExported(name) })
	return slices.Sorted(maps.Keys(names))
}

// complaints lists the names that the drop-in lacks without a reason, reasons that nothing needs, and
// names that somebody has declared by hand without need.
func (m *module) complaints() (all []string) {
	for _, importPath := range m.theirs {
		p := m.packages[importPath]
		for _, l := range p.lacks {
			if m.reasons.why(p.name(), l.name) == "" {
				all = append(all, fmt.Sprintf("%s.%s can't be forwarded, and explained.yaml doesn't say why: %s", p.name(), l.name, l.problem))
			}
		}
		for _, name := range p.handmade() {
			if p.theirs.Scope().Lookup(name) == nil {
				all = append(all, fmt.Sprintf("%s.%s is written by hand, and controller-runtime has no such name", p.name(), name))
			}
		}
	}
	return append(all, m.reasons.unused()...)
}

// name is what lists call the package.
func (p *pkg) name() string { return api.Name(p.paths, p.path) }
