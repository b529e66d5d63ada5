package main

import (
	"cmp"
	"errors"
	"fmt"

	"go/parser"
	"go/types"
	"slices"
)

// compile type-checks the package until the compiler has nothing to say. Each declaration is a file
// of its own, so an error's file says which of them to drop. What another one refers to may go with
// it, so this is repeated.
func (p *pkg) compile() error {
	for {
		problems, err := p.check()
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			return nil
		}
		var left []*declaration
		for _, d := range p.declared {
			problem, found := problems[d.name]
			switch {
			case found && d.instead != nil && d.instead.text != d.text:
				d.instead.problem = problem
				left = append(left, d.instead)
			case found:
				p.lacks = append(p.lacks, lack{d.name, cmp.Or(d.problem, problem)})
			default:
				left = append(left, d)
			}
		}
		p.declared = left
		slices.SortFunc(p.lacks, func(a, b lack) int { return cmp.Compare(a.name, b.name) })
	}
}

// check returns what the compiler says first about each declaration.
func (p *pkg) check() (map[string]string, error) {
	files := slices.Clone(p.byHand)
	for _, d := range p.declared {
		text := p.header(d.imports) + "\n" + d.kind + " " + d.text + "\n"
		file, err := parser.ParseFile(p.set, d.name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%s:\n%s\n%w", p.path, text, err)
		}
		files = append(files, file)
	}
	problems := map[string]string{}
	var other error
	config := types.Config{Importer: p.module, Error: func(err error) {
		var said types.Error
		if !errors.As(err, &said) || !slices.ContainsFunc(p.declared, func(d *declaration) bool { return d.name == p.fileOf(said) }) {
			other = cmp.Or(other, err)
		} else if problems[p.fileOf(said)] == "" {
			problems[p.fileOf(said)] = said.Msg
		}
	}}
	p.compiled, _ = config.Check(p.path, p.set, files, nil) // the errors are in problems
	if len(problems) > 0 {
		return problems, nil
	}
	return nil, other
}

func (p *pkg) fileOf(said types.Error) string { return p.set.Position(said.Pos).Filename }
