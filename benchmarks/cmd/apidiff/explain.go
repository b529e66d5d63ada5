package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// reasons is what explained.yaml says.
type reasons struct {
	// Packages are packages that are not here, or not complete.
	Packages []*packageReason `yaml:"packages"`
	// Differences are wanted.
	Differences []*reason `yaml:"differences"`
	// Unrelated are names of client-go that mean something else here, and are not compared.
	Unrelated []unrelated `yaml:"unrelated"`
}

type packageReason struct {
	Package string `yaml:"package"`
	// Chapter is the one that adds the package, or the names that it lacks.
	Chapter int `yaml:"chapter"`
	// Why is set if no chapter does.
	Why  string `yaml:"why"`
	used bool
}

// reason explains what is missing or different: a name, or one member of it, as Name.Member.
type reason struct {
	Package string `yaml:"package"`
	Name    string `yaml:"name"`
	Why     string `yaml:"why"`
	// Breaks says that a usual use of what differs does not compile. What is missing never does.
	Breaks bool `yaml:"breaks"`
	used   bool
}

type unrelated struct {
	Package string   `yaml:"package"`
	Names   []string `yaml:"names"`
}

func readReasons(file string) (*reasons, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &reasons{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // a field that is spelled wrong is an error
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, d := range r.Differences {
		if d.Package == "" || d.Name == "" || d.Why == "" {
			return nil, fmt.Errorf("%s: a difference needs package, name and why, and this one has %q, %q and %q", file, d.Package, d.Name, d.Why)
		}
	}
	for _, p := range r.Packages {
		if p.Package == "" || (p.Chapter == 0) == (p.Why == "") {
			return nil, fmt.Errorf("%s: package %q needs a chapter, or else a reason why it is not planned", file, p.Package)
		}
	}
	return r, nil
}

// why looks up the reason for a difference in a declaration, or in one of its members.
func (r *reasons) why(in, name, member string) (string, bool) {
	for _, known := range r.Differences {
		if known.Package == in && (known.Name == name || member != "" && known.Name == name+"."+member) {
			known.used = true
			return known.Why, true
		}
	}
	return "", false
}

// forPackage looks up what is said about a package that is not here, or not complete.
func (r *reasons) forPackage(name string) *packageReason {
	i := slices.IndexFunc(r.Packages, func(p *packageReason) bool { return p.Package == name })
	if i < 0 {
		return nil
	}
	return r.Packages[i]
}

// unrelatedIn lists the names of a package that mean something else here.
func (r *reasons) unrelatedIn(importPath string) (names []string) {
	for _, list := range r.Unrelated {
		if list.Package == importPath {
			names = append(names, list.Names...)
		}
	}
	return names
}

// unused lists the entries that explain nothing.
func (r *reasons) unused() (complaints []string) {
	for _, d := range r.Differences {
		if !d.used {
			complaints = append(complaints, fmt.Sprintf("explained.yaml explains %s in %s, which is not different (any more)", d.Name, d.Package))
		}
	}
	for _, p := range r.Packages {
		if !p.used {
			complaints = append(complaints, fmt.Sprintf("explained.yaml has an entry for package %s, which exists and lacks no name (any more)", p.Package))
		}
	}
	return complaints
}
