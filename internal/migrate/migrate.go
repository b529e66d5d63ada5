// Package migrate moves a program from controller-runtime to this library: it replaces import paths, says what
// else has to be done, and leaves everything else as it is.
//
// The way of the data: tree.go finds the files; file.go reads one and replaces its imports; file_uses.go finds
// which names it uses; names.go knows which of them are here, out of names.yaml, which `make api` writes together
// with docs/generated/api.md; decide.go decides what moves and what is reported, and offers.go what is offered; module.go
// changes go.mod; write.go writes all of it, or nothing; compile.go asks the compiler about the result.
//
// Above it is the command cmd/loopwright. The tests of benchmarks/ use it to compile the same programs with
// both libraries. It stands on nothing of this repository.
package migrate

import (
	"bytes"
	"fmt"
	"slices"
)

// Options say what to port.
type Options struct {
	// Dir is the tree to port: usually the directory of a go.mod.
	Dir string
	// Version is that of this library that a go.mod requires which does not yet. It is not needed with Replace.
	Version string
	// Replace is a directory with this library, for a replace directive in go.mod.
	Replace string
}

// Plan is what is to be written, and what a person has to do after that.
type Plan struct {
	dir     string
	names   *Names
	modules []string // the go.mods that require this library afterwards
	users   []string // the Go files that import it afterwards
	// Changes are the files that become others, sorted by name.
	Changes []Change
	// Problems are sorted by place. Before Check they are what the list of names says.
	Problems []Problem
	// Notes say what compiles and is worth knowing.
	Notes []Problem
	// Skipped are the Go files that import this library and that no compiled package contains, sorted by name.
	Skipped []string
	// Unchecked says why the compiler was not asked.
	Unchecked error
}

// Change is a file of the tree before and after.
type Change struct {
	Name          string // relative to the tree, with slashes
	Before, After []byte
}

// Make reads a tree and returns what is to be done with it. It writes nothing, and compiles nothing.
func Make(options Options) (*Plan, error) {
	names, err := Known()
	if err != nil {
		return nil, err
	}
	found, err := readTree(options.Dir)
	if err != nil {
		return nil, err
	}
	plan := &Plan{dir: options.Dir, names: names}
	var files []*file
	for _, source := range found.sources {
		parsed, err := parse(source.name, source.text, names, ControllerRuntime)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
	}
	var notes []Problem
	for _, f := range files {
		text, err := f.rewritten()
		if err != nil {
			return nil, err
		}
		plan.change(f.name, f.text, text)
		if f.ours || !bytes.Equal(f.text, text) {
			plan.users = append(plan.users, f.name)
		}
		plan.Problems = append(plan.Problems, f.problems()...)
		notes = append(notes, f.notes()...)
		if m := found.moduleOf(f.name); m != nil {
			m.see(f)
		}
	}
	if len(found.modules) == 0 {
		plan.Unchecked = fmt.Errorf("%s has no go.mod; name the directory of one, or add the requirement yourself", options.Dir)
	}
	for _, m := range found.modules {
		if slices.ContainsFunc(found.modules, m.needs) {
			text, err := m.ported(ControllerRuntime, options)
			if err != nil {
				return nil, err
			}
			plan.change(m.name, m.text, text)
		}
		if m.requires(ControllerRuntime.OurRoot) {
			plan.modules = append(plan.modules, m.name)
		}
	}
	plan.Problems = sortProblems(plan.Problems)
	plan.Notes = slices.Concat(notes, found.notes, offered(files))
	return plan, nil
}

func (p *Plan) change(name string, before, after []byte) {
	if !bytes.Equal(before, after) {
		p.Changes = append(p.Changes, Change{name, before, after})
	}
}

// Open returns the problems that need a hand, without those that compile as they are.
func (p *Plan) Open() (open []Problem) {
	for _, problem := range p.Problems {
		if !problem.Compiles {
			open = append(open, problem)
		}
	}
	return open
}
