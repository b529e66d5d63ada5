package main

import (
	"fmt"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

// result is what the report shows.
type result struct {
	packages   []*packageResult // compared ones, sorted by name
	borrowed   []*packageResult // client-go's packages, as far as controllers see them
	absent     []*packageReason // theirs without ours, sorted by name
	added      []string         // our packages without theirs, sorted
	complaints []string         // differences without a reason, and reasons without a difference
	names      *migrate.Names   // the same for the command that ports programs
}

// packageResult is the comparison of one package.
type packageResult struct {
	name, ours string
	present    int
	differ     []finding
	missing    []finding
	coming     []string // missing names that a later chapter brings
	chapter    int
	added      []string // names and members that only ours has
	unrelated  []string // names that mean something else here
}

// finding is a name that is not as it is there. One of its texts may be the name's, the others
// those of fields and methods.
type finding struct {
	name string
	how  []explanation
}

type explanation struct{ member, text, why string }

// compare loads both sides and compares them. Dir is in the module whose go.mod has both.
func compare(dir string, p places, r *reasons) (*result, error) {
	theirs, err := api.PackagesOf(dir, p.Theirs)
	if err != nil {
		return nil, err
	}
	if p.TheirRoot != "" {
		theirs = append(theirs, p.TheirRoot)
	}
	ours, err := api.PackagesOf(dir, p.Ours)
	if err != nil {
		return nil, err
	}
	if p.OurRoot != "" {
		ours = append(ours, p.OurRoot)
	}
	done := &result{}
	var compared, paths []string
	for _, importPath := range theirs {
		counterpart, ok := p.Counterpart(importPath)
		if !ok {
			continue // it holds nothing but a comment
		}
		if !slices.Contains(ours, counterpart) {
			done.addAbsent(api.Name(p.Paths, importPath), r)
			continue
		}
		compared = append(compared, importPath)
		paths = append(paths, importPath, counterpart)
	}
	moved := slices.Collect(maps.Values(p.Moved)) // client-go's are compared below
	for _, importPath := range ours {
		if !slices.Contains(paths, importPath) && !slices.Contains(moved, importPath) {
			done.added = append(done.added, strings.TrimPrefix(importPath, path.Dir(p.Ours)+"/"))
		}
	}
	for from, to := range p.Moved {
		if !p.IsTheirs(from) {
			paths = append(paths, from, to)
		}
	}
	slices.Sort(paths)
	loaded, err := api.Load(dir, paths)
	if err != nil {
		return nil, err
	}
	w := newPairs(p, loaded, compared)
	for _, importPath := range compared {
		done.packages = append(done.packages, comparePackage(w, importPath, r, done))
	}
	compareBorrowed(w, compared, r, done)
	slices.SortFunc(done.packages, func(a, b *packageResult) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(done.absent, func(a, b *packageReason) int { return strings.Compare(a.Package, b.Package) })
	done.complaints = append(done.complaints, r.unused()...)
	done.names = namesOf(w, done, r)
	return done, nil
}

func (done *result) addAbsent(name string, r *reasons) {
	reason := r.forPackage(name)
	if reason == nil {
		reason = &packageReason{Package: name, Why: "nobody has said why"}
		done.complaints = append(done.complaints, "package "+name+" is not here, and explained.yaml does not say which chapter brings it")
	}
	reason.used = true
	done.absent = append(done.absent, reason)
}

func comparePackage(w *pairs, importPath string, r *reasons, done *result) *packageResult {
	counterpart, _ := w.Counterpart(importPath)
	in := &packageResult{name: api.Name(w.Paths, importPath), ours: counterpart}
	theirs, ours := w.loaded[importPath].Scope(), w.loaded[counterpart].Scope()
	for _, name := range theirs.Names() {
		if object := theirs.Lookup(name); object.Exported() {
			in.add(w, object, r, done)
		}
	}
	for _, name := range ours.Names() {
		if ours.Lookup(name).Exported() && theirs.Lookup(name) == nil {
			in.added = append(in.added, name)
		}
	}
	slices.Sort(in.added)
	return in
}

// add compares one of their declarations with ours.
func (in *packageResult) add(w *pairs, theirs types.Object, r *reasons, done *result) {
	name := theirs.Name()
	ours := w.ours(theirs)
	if ours == nil {
		why, explained := r.why(in.name, name, "")
		if later := r.forPackage(in.name); !explained && later != nil {
			later.used = true
			in.chapter, in.coming = later.Chapter, append(in.coming, name)
			return
		}
		if !explained {
			done.complaints = append(done.complaints, fmt.Sprintf("%s.%s is missing, and nobody has said why", in.name, name))
		}
		in.missing = append(in.missing, finding{name, []explanation{{why: why}}})
		return
	}
	differences, added := w.compareNames(theirs, ours)
	for _, member := range added {
		in.added = append(in.added, name+"."+member)
	}
	if len(differences) == 0 {
		in.present++
		return
	}
	found := finding{name: name}
	for _, d := range differences {
		why, explained := r.why(in.name, name, d.member)
		if !explained {
			done.complaints = append(done.complaints, fmt.Sprintf("%s.%s differs, and nobody has said why: %s", in.name, d.named(name), d.text))
		}
		found.how = append(found.how, explanation{d.member, d.text, why})
	}
	in.differ = append(in.differ, found)
}

func (d difference) named(name string) string {
	if d.member == "" {
		return name
	}
	return name + "." + d.member
}

// compareBorrowed compares the types of client-go that users meet in the signatures of what was
// compared, and the other names of client-go that are here, but for those that mean something else.
func compareBorrowed(w *pairs, compared []string, r *reasons, done *result) {
	seen := &mentions{pairs: w, names: map[*types.TypeName]bool{}}
	for _, importPath := range compared {
		scope := w.loaded[importPath].Scope()
		for _, name := range scope.Names() {
			if theirs := scope.Lookup(name); theirs.Exported() && w.ours(theirs) != nil {
				seen.inDeclaration(theirs)
			}
		}
	}
	wanted := map[string]map[string]types.Object{}
	want := func(object types.Object) {
		in := object.Pkg().Path()
		if wanted[in] == nil {
			wanted[in] = map[string]types.Object{}
		}
		wanted[in][object.Name()] = object
	}
	for name := range seen.names {
		want(name)
	}
	for importPath := range w.Moved {
		if w.IsTheirs(importPath) {
			continue
		}
		scope, unrelated := w.loaded[importPath].Scope(), r.unrelatedIn(importPath)
		for _, name := range scope.Names() {
			if theirs := scope.Lookup(name); theirs.Exported() && w.ours(theirs) != nil && !slices.Contains(unrelated, name) {
				want(theirs)
			}
		}
		for _, name := range unrelated {
			if theirs := scope.Lookup(name); theirs == nil || w.ours(theirs) == nil {
				done.complaints = append(done.complaints, fmt.Sprintf("explained.yaml says that %s.%s means something else here, and it does not exist on both sides", importPath, name))
			}
		}
	}
	for _, importPath := range slices.Sorted(maps.Keys(wanted)) {
		counterpart, _ := w.Counterpart(importPath)
		in := &packageResult{name: importPath, ours: counterpart, unrelated: r.unrelatedIn(importPath)}
		for _, name := range slices.Sorted(maps.Keys(wanted[importPath])) {
			in.add(w, wanted[importPath][name], r, done)
		}
		in.added = nil // what else our package has is not the subject
		done.borrowed = append(done.borrowed, in)
	}
}
