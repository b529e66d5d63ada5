package migrate

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Names says what a program finds here under the names that it uses. `make api` writes it, out of the
// comparison that docs/generated/api.md shows.
type Names struct {
	Packages []*Package `yaml:"packages"` // sorted by Theirs
}

// Package is one of their packages.
type Package struct {
	Theirs  string `yaml:"theirs"`            // its import path
	Name    string `yaml:"name"`              // its name
	Ours    string `yaml:"ours,omitempty"`    // our import path, or "" if it is not here
	OurName string `yaml:"ourName,omitempty"` // the name of our package, if it is another one
	Why     string `yaml:"why,omitempty"`     // why it is not here
	// Names are here, too, and can be used after the import path is replaced, unless Lacks says that it does
	// not compile. Sorted.
	Names []string `yaml:"names,flow,omitempty"`
	Lacks []Lack   `yaml:"lacks,omitempty"`
}

// Lack is a name that is missing or different, or a field or method as Name.Member.
type Lack struct {
	Name string `yaml:"name"`
	// Compiles says that a usual use of it compiles all the same.
	Compiles bool   `yaml:"compiles,omitempty"`
	Why      string `yaml:"why"`
}

//go:embed names.yaml
var namesText []byte

// Known returns the comparison of controller-runtime's packages with ours.
func Known() (*Names, error) {
	names := &Names{}
	decoder := yaml.NewDecoder(bytes.NewReader(namesText))
	decoder.KnownFields(true)
	if err := decoder.Decode(names); err != nil {
		return nil, fmt.Errorf("reading names.yaml: %w", err)
	}
	return names, nil
}

// find returns what is known about one of their packages, or nil.
func (n *Names) find(importPath string) *Package {
	i, found := slices.BinarySearchFunc(n.Packages, importPath, func(p *Package, path string) int { return strings.Compare(p.Theirs, path) })
	if !found {
		return nil
	}
	return n.Packages[i]
}

// findOurs returns what is known about the package of theirs in whose place one of ours is, or nil.
func (n *Names) findOurs(importPath string) *Package {
	if i := slices.IndexFunc(n.Packages, func(p *Package) bool { return p.Ours == importPath }); i >= 0 {
		return n.Packages[i]
	}
	return nil
}

// lacks returns the entry for a name, or for Name.Member, or nil.
func (p *Package) lacks(name string) *Lack {
	if i := slices.IndexFunc(p.Lacks, func(l Lack) bool { return l.Name == name }); i >= 0 {
		return &p.Lacks[i]
	}
	return nil
}

// missing says why a name cannot be used after the path is replaced. It is "" if it can be.
func (p *Package) missing(name string) string {
	lack := p.lacks(name)
	_, here := slices.BinarySearch(p.Names, name)
	switch {
	case here && (lack == nil || lack.Compiles):
		return ""
	case lack != nil:
		return lack.Why
	}
	return "it is not here"
}
