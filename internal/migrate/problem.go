package migrate

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Problem is something that a person has to look at.
type Problem struct {
	At   token.Position // without a line, it is about the whole file
	What string         // what the program uses, or what the compiler says
	Why  string         // "" if only the compiler knows
	// Compiles says that it differs, and compiles. Before Check, that is so for a usual use.
	Compiles bool
}

func (p Problem) String() string {
	if p.Why == "" {
		return fmt.Sprintf("%s: %s", p.At, p.What)
	}
	return fmt.Sprintf("%s: %s: %s", p.At, p.What, p.Why)
}

func sortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Filename, b.At.Filename), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column), cmp.Compare(a.What, b.What))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.At == b.At && a.What == b.What })
}
