// Package mutants finds out which mistakes the tests would not notice. It makes small
// mistakes in the code, one at a time, runs the tests that reach each one, and
// lists the mistakes with which all tests pass.
//
// The data flows like this: operators look through a type-checked file and propose mutants; the
// schemata is one copy of the file that holds all of them, each behind a switch; it is compiled
// and linked once with the tests; and the test binary runs once for each mutant, with
// that mutant's number in its environment. The summary is checked in.
//
// Neighbours: above it is cmd/mutants, which the Makefile calls; below it are the
// go command and internal/course, which knows the exercises and their tests.
package mutants

import (
	"fmt"
	"go/scanner"
	"go/token"
	"strings"
)

// Mutant is one small mistake in one file.
type Mutant struct {
	ID        int    // its number in the schemata of its package
	File      string // relative to the root of the tree
	Line      int
	Function  string // priorityLevels.push
	Operator  string
	Original  string // on one line, as Mutated is
	Mutated   string
	Nth       int  // 1, or more if the function has the same mutant more than once
	WholeOnly bool // as plain source it would leave a variable or an import unused

	edit  edit   // the mistake as plain source
	wraps []wrap // the mistake behind its switch
}

// edit replaces a part of the file.
type edit struct {
	start, end int
	text       string
}

// wrap puts text around a part of the file, which stays. Wraps are nested or apart, as
// nodes of a syntax tree are. So any number of them can be put into one file.
type wrap struct {
	start, end  int
	open, close string
	inner       bool // for expressions: inside a statement's wraps if both cover the same part
}

func (m *Mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.name()) }

// name is the same wherever in the file the function stands.
func (m *Mutant) name() string {
	return fmt.Sprintf("%s: %s: %s -> %s", m.Function, m.Operator, m.Original, m.Mutated)
}

// inWords is source code on one line and without comments, for people and for the list of
// equivalent mutants. A long statement is shown by its two ends.
func inWords(code string) string {
	var sc scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(code))
	sc.Init(file, []byte(code), func(token.Position, string) {}, scanner.ScanComments)
	var kept strings.Builder
	done := 0
	for {
		pos, tok, text := sc.Scan()
		if tok == token.EOF {
			break
		}
		if at := file.Offset(pos); tok == token.COMMENT {
			kept.WriteString(code[done:at])
			done = at + len(text)
		}
	}
	kept.WriteString(code[done:])
	line := []rune(strings.Join(strings.Fields(kept.String()), " "))
	if len(line) > 120 {
		return string(line[:80]) + " ... " + string(line[len(line)-30:])
	}
	return string(line)
}
