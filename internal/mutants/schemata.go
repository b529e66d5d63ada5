package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// schemata is a package with all its mutants in it, each behind a switch.
type schemata struct {
	*tree
	mutants []*Mutant         // of all its files, those that compile
	text    map[string]string // the files with the switches, and the one with the helpers
}

// build finds the mutants of some files of a package and puts them behind switches.
func (t *tree) build(files []string) (*schemata, error) {
	s := &schemata{tree: t}
	id := 0
	for _, name := range files {
		if t.files[name] == nil {
			return nil, fmt.Errorf("%s is no file of package %s", name, t.dir)
		}
		for _, m := range t.find(name, func() int { id++; return id }) {
			if t.compiles(m, id) {
				s.mutants = append(s.mutants, m)
			}
		}
	}
	if _, _, hard, soft := t.check(t.assemble(files, s.mutants, id)); len(hard)+len(soft) > 0 {
		// Some mutant compiles, but not behind its switch. Which?
		s.mutants = slices.DeleteFunc(s.mutants, func(m *Mutant) bool {
			_, _, hard, soft := t.check(t.assemble([]string{m.File}, []*Mutant{m}, id))
			return len(hard)+len(soft) > 0
		})
	}
	s.text = t.assemble(files, s.mutants, id)
	if _, _, hard, soft := t.check(s.text); len(hard)+len(soft) > 0 {
		return nil, fmt.Errorf("the mutants of %s do not compile together: %w", t.dir, slices.Concat(hard, soft)[0])
	}
	return s, nil
}

// compiles reports whether a mutant is Go. That a variable is no longer used is
// allowed: behind its switch it still is.
func (t *tree) compiles(m *Mutant, last int) bool {
	_, _, hard, soft := t.check(t.plain(m, last))
	m.WholeOnly = len(soft) > 0
	return len(hard) == 0
}

// plain is a mutant as source code, with the helper that sets a variable to zero.
func (t *tree) plain(m *Mutant, last int) map[string]string {
	text := t.text[m.File]
	changed := string(text[:m.edit.start]) + m.edit.text + string(text[m.edit.end:])
	return map[string]string{m.File: changed, t.helperName(): t.helper(last)}
}

// assemble writes the files with the mutants behind their switches.
func (t *tree) assemble(files []string, mutants []*Mutant, last int) map[string]string {
	out := map[string]string{t.helperName(): t.helper(last)}
	for _, name := range files {
		wraps := t.unreachableEnds(name)
		for _, m := range mutants {
			if m.File == name {
				wraps = append(wraps, m.wraps...)
			}
		}
		out[name] = insert(string(t.text[name]), wraps)
	}
	return out
}

// unreachableEnds ends each function that has results with a panic. The compiler would
// not see that a return behind a switch is always reached, unless the mutant is active.
func (t *tree) unreachableEnds(name string) (wraps []wrap) {
	ast.Inspect(t.files[name], func(n ast.Node) bool {
		var typ *ast.FuncType
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			typ, body = n.Type, n.Body
		case *ast.FuncLit:
			typ, body = n.Type, n.Body
		}
		if body != nil && typ.Results != nil {
			at := t.fset.Position(body.Rbrace).Offset
			wraps = append(wraps, wrap{start: at, end: at, open: `; panic("a mutant has removed the return")`})
		}
		return true
	})
	return wraps
}

// insert puts wraps around parts of the text, the outer ones outside.
func insert(text string, wraps []wrap) string {
	type piece struct {
		at, order int
		text      string
	}
	slices.SortStableFunc(wraps, func(a, b wrap) int {
		inner := func(w wrap) int {
			if w.inner {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(inner(a), inner(b)))
	})
	// From the outside to the inside: each opens after those before it, and closes
	// before them. Where one part ends and the next begins, the closing comes first.
	var pieces []piece
	for i, w := range wraps {
		pieces = append(pieces, piece{w.start, i + 1, w.open}, piece{w.end, -i - 1, w.close})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out strings.Builder
	done := 0
	for _, p := range pieces {
		out.WriteString(text[done:p.at])
		out.WriteString(p.text)
		done = p.at
	}
	out.WriteString(text[done:])
	return out.String()
}

func (t *tree) helperName() string { return t.dir + "/zz_mutants_switch.go" }

// helper is the file that all switches of a package need. With a file to write to, no
// mutant is active, and it notes which switches are reached: once each, straight to the file,
// since a test binary may end in any way.
func (t *tree) helper(last int) string {
	return fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

var mutantActive, _ = strconv.Atoi(os.Getenv(%q))

var mutantNotes = func() int {
	name := os.Getenv(%q)
	if name == "" {
		return -1
	}
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_APPEND, 0)
	if err != nil {
		panic(err)
	}
	return fd
}()

var mutantReached [%d]atomic.Bool

func mutantOn(id int) bool {
	if mutantNotes >= 0 {
		mutantNote(id)
	}
	return id == mutantActive
}

func mutantNote(id int) {
	if !mutantReached[id].Load() && !mutantReached[id].Swap(true) {
		if _, err := syscall.Write(mutantNotes, []byte(strconv.Itoa(id)+"\n")); err != nil {
			panic(err)
		}
	}
}

func mutantZero[T any](p *T) { *p = *new(T) }
`, t.types.Name(), activeVariable, notesVariable, last+1)
}

const (
	activeVariable = "LOOPWRIGHT_MUTANT"
	notesVariable  = "LOOPWRIGHT_MUTANT_NOTES"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
