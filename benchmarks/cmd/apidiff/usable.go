package main

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

// namesOf says which names a program can use after its import paths are replaced.
func namesOf(w *pairs, done *result, r *reasons) *migrate.Names {
	names := &migrate.Names{}
	for importPath, theirs := range w.loaded {
		counterpart, ok := w.Counterpart(importPath)
		if !ok || !w.IsTheirs(importPath) { // a program keeps what it has of client-go
			continue
		}
		ours := w.loaded[counterpart]
		p := &migrate.Package{Theirs: importPath, Name: theirs.Name(), Ours: counterpart}
		if ours.Name() != theirs.Name() {
			p.OurName = ours.Name()
		}
		for _, name := range theirs.Scope().Names() {
			if w.usable(importPath, name) {
				p.Names = append(p.Names, name)
			}
		}
		names.Packages = append(names.Packages, p)
	}
	for _, in := range done.packages {
		i := slices.IndexFunc(names.Packages, func(p *migrate.Package) bool { return p.Ours == in.ours && api.Name(w.Paths, p.Theirs) == in.name })
		names.Packages[i].Lacks = lacksOf(in, r)
	}
	for _, p := range done.absent {
		names.Packages = append(names.Packages, &migrate.Package{
			Theirs: w.Theirs + "/" + p.Package, Name: lastOf(p.Package), Why: cmp.Or(oneLine(p.Why), "a later chapter brings it")})
	}
	slices.SortFunc(names.Packages, func(a, b *migrate.Package) int { return strings.Compare(a.Theirs, b.Theirs) })
	return names
}

// usable reports whether we have a name of theirs. How it differs, if it does, is in the lacks.
func (w *pairs) usable(importPath, name string) bool {
	return w.ours(w.loaded[importPath].Scope().Lookup(name)) != nil
}

func lacksOf(in *packageResult, r *reasons) (lacks []migrate.Lack) {
	for _, f := range in.missing {
		lacks = append(lacks, migrate.Lack{Name: f.name, Why: oneLine(f.how[0].why)})
	}
	for _, name := range in.coming {
		lacks = append(lacks, migrate.Lack{Name: name, Why: "a later chapter brings it"})
	}
	for _, f := range in.differ {
		for _, how := range f.how {
			compiles := !strings.HasSuffix(how.text, "that is missing") && !r.breaks(in.name, f.name, how.member)
			lacks = append(lacks, migrate.Lack{Name: difference{member: how.member}.named(f.name), Compiles: compiles, Why: oneLine(how.why)})
		}
	}
	for _, name := range in.unrelated {
		lacks = append(lacks, migrate.Lack{Name: name, Why: "it is something else here, under the same name"})
	}
	return lacks
}

// breaks reports whether somebody has said that a use of what differs does not compile.
func (r *reasons) breaks(in, name, member string) bool {
	return slices.ContainsFunc(r.Differences, func(d *reason) bool {
		return d.Breaks && d.Package == in && (d.Name == name || member != "" && d.Name == name+"."+member)
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func writeNames(names *migrate.Names) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("# Which names of controller-runtime are here. `make api` writes it.\n")
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(names); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
