package course

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course/splice"
)

// solution is code that is tried in place of an exercise's reference file. The
// zero solution is the reference itself.
type solution struct {
	file    string       // what explanations call it
	content []byte       // what makes it differ from others; it is hashed
	patch   *splice.File // what it changes in the reference; nil for a whole file
	isStub  bool         // content is the stub
	only    string       // the one test that is run on it; empty for all of the exercise
	home    string       // the directory with a learner's solutions; empty if it is no learner's
	extra   Overlay      // a learner's other files: where they go -> where they are
}

// isReference reports whether it's mini's own file, with nothing of a learner's beside it.
func (s solution) isReference() bool { return s.file == "" && len(s.extra) == 0 }

func (s solution) isLearners() bool { return s.file != "" && s.patch == nil && !s.isStub }

// run is the regular expression that go test takes.
func (s solution) run(e Exercise) string {
	if s.only != "" {
		return "^" + s.only + "$"
	}
	return e.run()
}

// learner is what the learner of this checkout has written.
func (r *Repo) learner(e Exercise) (solution, error) { return r.learnerIn(myDir, e) }

// learnerIn is what is written in a directory that holds what my/ does.
func (r *Repo) learnerIn(home string, e Exercise) (solution, error) {
	extra, err := r.extraFiles(home, e)
	if err != nil {
		return solution{}, err
	}
	s := solution{file: e.in(home), extra: extra, home: home}
	for _, file := range append([]string{s.file}, sortedValues(extra)...) {
		text, err := r.read(file)
		if err != nil {
			return solution{}, fmt.Errorf("reading your solution of exercise %s: %w", e.ID(), err)
		}
		s.content = fmt.Appendf(s.content, "%s %d\n%s", path.Base(file), len(text), text)
	}
	return s, nil
}

// extraFiles are the Go files that learners put next to the one that they were
// given. They are compiled with it, and must not hide what is there.
func (r *Repo) extraFiles(home string, e Exercise) (map[string]string, error) {
	dir := path.Dir(e.in(home))
	entries, err := os.ReadDir(r.Abs(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for your files of exercise %s: %w", e.ID(), err)
	}
	extra := map[string]string{}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == path.Base(e.Replaces) {
			continue
		}
		to, from := path.Join(path.Dir(e.Replaces), name), path.Join(dir, name)
		if r.exists(to) || name == furtherTest {
			return nil, fmt.Errorf("%s cannot be compiled with your %s: %s exists already and is needed, too. Give your file another name, or remove it if it is only a copy", from, path.Base(e.Replaces), to)
		}
		extra[to] = from
	}
	return extra, nil
}

// Stub is the file that a learner starts from, for texts that show it.
func (r *Repo) Stub(e Exercise) ([]byte, error) { return r.stubText(e) }

// stubText is the file that a learner starts from: the reference with empty functions.
func (r *Repo) stubText(e Exercise) ([]byte, error) {
	text, imports, err := r.emptied(e)
	return append(stubHeader(e, imports), text...), err
}

// emptied is the reference with empty functions, and the packages that it no longer imports.
func (r *Repo) emptied(e Exercise) (text []byte, imports []string, err error) {
	base, err := r.parse(e.Replaces)
	if err != nil {
		return nil, nil, err
	}
	emptied, err := splice.Stub(base, e.Function)
	if err != nil {
		return nil, nil, fmt.Errorf("making the stub of exercise %d: %s: %w", e.Number, e.Replaces, err)
	}
	text, err = splice.Render(base, emptied)
	if err != nil {
		return nil, nil, fmt.Errorf("making the stub of exercise %d: %w", e.Number, err)
	}
	stub, err := splice.Parse("", text)
	if err != nil {
		return nil, nil, fmt.Errorf("making the stub of exercise %d: %w", e.Number, err)
	}
	return text, splice.Missing(base, stub), nil
}

// stillEmpty are the functions of an exercise that a file has as the stub has them.
func (r *Repo) stillEmpty(e Exercise, file string) (names []string) {
	text, _, err := r.emptied(e)
	if err != nil {
		return nil // a mistake in the course, which others report
	}
	stub, err := splice.Parse("", text)
	mine, err2 := r.parse(file)
	if err != nil || err2 != nil {
		return nil // the compiler says it better
	}
	written := splice.Changed(stub, mine)
	for _, name := range e.Function {
		_, declared := mine.Find(name) // not if the file has only what differs from the reference
		if _, ok := written.Find(name); declared && !ok {
			names = append(names, name)
		}
	}
	return names
}

// stubHeader tells whoever opens the file what is asked.
func stubHeader(e Exercise, imports []string) []byte {
	text := fmt.Sprintf("Exercise %s, %s: you write %s. The rest is given.", e.ID(), e.Title, list(e.Function, "and"))
	if len(imports) > 0 {
		text += fmt.Sprintf(" You may want to import %s.", list(imports, "and"))
	}
	return []byte(indent(wrap(text, 80), "// ") + "\n\n")
}

// list writes "a, b and c".
func list(items []string, last string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " " + last + " " + items[len(items)-1]
}

// stub is the stub as a solution, for verify.
func (r *Repo) stub(e Exercise) (solution, error) {
	text, err := r.stubText(e)
	if err != nil {
		return solution{}, err
	}
	return solution{file: e.Mine(), content: text, isStub: true}, nil
}

// stubPatch is the stub as what it changes in the reference.
func (r *Repo) stubPatch(e Exercise) (*splice.File, error) {
	base, err := r.parse(e.Replaces)
	if err != nil {
		return nil, err
	}
	return splice.Stub(base, e.Function)
}

// wrong is a plausible bug as a solution.
func (r *Repo) wrong(e Exercise, file string) (solution, error) {
	base, err := r.parse(e.reference())
	if err != nil {
		return solution{}, err
	}
	patch, err := r.parsePatch(base, file)
	if err != nil {
		return solution{}, err
	}
	text, err := r.read(file)
	return solution{file: file, content: text, patch: patch}, err
}

// parse reads a Go file of the tree for splicing.
func (r *Repo) parse(file string) (*splice.File, error) {
	text, err := r.read(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	f, err := splice.Parse(r.Abs(file), text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return f, nil
}

// parsePatch reads a file that holds only what differs from the reference, and
// insists that it does.
func (r *Repo) parsePatch(base *splice.File, file string) (*splice.File, error) {
	patch, err := r.parse(file)
	if err != nil {
		return nil, err
	}
	var problems Problems
	for _, p := range splice.Check(base, patch) {
		problems.add("%s %s", file, p)
	}
	return patch, problems.Err()
}

// overlay compiles a solution in place of the reference. Positions are those of
// the files that a person edits.
func (s solution) overlay(r *Repo, e Exercise) (Overlay, error) {
	if s.file == "" {
		instead, err := s.extra.underTheirNames(r)
		if err == nil && e.base != "" {
			instead[e.Replaces] = e.base
		}
		return instead, err
	}
	if s.isStub { // there may be no file yet, and if there is one, it is the learner's
		file := path.Join(stateDir, "spliced", e.Name, "stub", path.Base(e.Replaces))
		return Overlay{e.Replaces: file}, r.writeState(file, fmt.Appendf(nil, "//line %s:1\n%s", r.Abs(e.Mine()), s.content))
	}
	if s.patch == nil {
		mine := Overlay{e.Replaces: s.file}
		maps.Copy(mine, s.extra)
		return mine.underTheirNames(r)
	}
	base, err := r.parse(e.reference())
	if err != nil {
		return nil, err
	}
	text, err := splice.Replace(base, s.patch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	all, err := s.extra.underTheirNames(r)
	if err != nil {
		return nil, err
	}
	file := path.Join(stateDir, "spliced", e.Name, path.Base(s.patch.Name))
	all[e.Replaces] = file
	return all, r.writeState(file, text)
}

// places are the files in which a learner, or an author, can look for the
// reason of a failure.
func (s solution) places(e Exercise) []string {
	places := append([]string{s.file}, sortedValues(s.extra)...)
	return slices.DeleteFunc(append(places, e.Replaces), func(p string) bool { return p == "" })
}

func sortedValues(m map[string]string) []string {
	var values []string
	for _, k := range sortedKeys(m) {
		values = append(values, m[k])
	}
	return values
}

// untouched reports whether the learner's file is still the stub.
func (r *Repo) untouched(e Exercise) (bool, error) { return r.isStub(e.Mine(), e) }

// isReference reports whether a file is the solution itself.
func (r *Repo) isReference(file string, e Exercise) (bool, error) {
	mine, err := r.read(file)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", file, err)
	}
	reference, err := r.read(e.Replaces)
	return bytes.Equal(mine, reference), err
}

func (r *Repo) isStub(file string, e Exercise) (bool, error) {
	mine, err := r.read(file)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", file, err)
	}
	stub, err := r.stubText(e)
	return bytes.Equal(mine, stub), err
}
