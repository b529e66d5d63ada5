// Package port moves a program from controller-runtime to this library: it replaces import paths, says what
// else has to be done, and leaves everything else as it is.
//
// The way of the data: tree.go finds the files; file.go reads one and replaces its imports; file_uses.go and
// members.go find which names it uses; names.go knows which of them are here, out of names.yaml, which
// `make api` writes together with docs/api.md; decide.go decides what moves and what is reported; module.go
// changes go.mod; write.go writes all of it, or nothing.
//
// Above it is the command cmd/loopwright. The tests of benchmarks/ use it to compile the same programs with
// both libraries. It stands on nothing of this repository.
package port

import (
	"bytes"
	"context"
	"fmt"
	"path"
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
	dir string
	// Changes are the files that become others, sorted by name.
	Changes []Change
	// Problems are sorted by place.
	Problems []Problem
	// Unchecked says why fields and methods were not looked at. It is nil if they were.
	Unchecked error
}

// Change is a file of the tree before and after.
type Change struct {
	Name          string // relative to the tree, with slashes
	Before, After []byte
}

// Make reads a tree and returns what is to be done with it. It writes nothing.
func Make(ctx context.Context, options Options) (*Plan, error) {
	names, err := Known()
	if err != nil {
		return nil, err
	}
	found, err := readTree(options.Dir)
	if err != nil {
		return nil, err
	}
	plan := &Plan{dir: options.Dir}
	var files []*file
	for _, source := range found.sources {
		parsed, err := parse(source.name, source.text, names, ControllerRuntime)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
	}
	mover := newMover(files, ControllerRuntime)
	for _, f := range files {
		text, err := f.rewritten(func(i imported) bool { return mover.moves(f, i) })
		if err != nil {
			return nil, err
		}
		plan.change(f.name, f.text, text)
		plan.Problems = append(plan.Problems, mover.problems(f)...)
	}
	if len(found.modules) == 0 {
		plan.Unchecked = fmt.Errorf("%s has no go.mod; name the directory of one, or add the requirement yourself", options.Dir)
	}
	for _, m := range found.modules {
		text, err := m.ported(files, mover, options)
		if err != nil {
			return nil, err
		}
		plan.change(m.name, m.text, text)
		members, err := membersIn(ctx, options.Dir, path.Dir(m.name), names)
		plan.Problems = append(plan.Problems, members...)
		if err != nil && plan.Unchecked == nil {
			plan.Unchecked = err
		}
	}
	plan.Problems = append(sortProblems(plan.Problems), found.problems...)
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
