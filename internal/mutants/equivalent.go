package mutants

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// Equivalent is a mutant that no test can notice, and why. It is found by what it
// changes, and not by its line, so that it survives edits elsewhere.
type Equivalent struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Operator string `json:"operator"`
	Original string `json:"original"`
	Mutated  string `json:"mutated"`
	Nth      int    `json:"nth,omitempty"` // which, if the function has several like it; 0 is the first
	Reason   string `json:"reason"`
}

// is reports whether an entry means a mutant.
func (e Equivalent) is(m *Mutant) bool {
	return e.File == m.File && e.Function == m.Function && e.Operator == m.Operator &&
		e.Original == m.Original && e.Mutated == m.Mutated && cmp.Or(e.Nth, 1) == m.Nth
}

func (e Equivalent) String() string {
	return fmt.Sprintf("%s: %s: %s: %s -> %s", e.File, e.Function, e.Operator, e.Original, e.Mutated)
}

// readEquivalents reads the list of equivalent mutants; there may be none.
func readEquivalents(file string) ([]Equivalent, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the equivalent mutants: %w", err)
	}
	var list []Equivalent
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("reading the equivalent mutants in %s: %w", file, err)
	}
	for _, e := range list {
		if e.Reason == "" {
			return nil, fmt.Errorf("%s: %v has no reason: say why no test can notice it", file, e)
		}
	}
	return list, nil
}

// stale lists the entries for a file that are not true: a test notices the mutant, or
// there is no such mutant any more.
func stale(list []Equivalent, file string, outcomes []Outcome) (problems []string) {
	for _, e := range list {
		if e.File != file {
			continue
		}
		found := false
		for _, o := range outcomes {
			if !e.is(o.Mutant) {
				continue
			}
			found = true
			if o.verdict != survived {
				problems = append(problems, fmt.Sprintf("%v: is listed as equivalent, but is %s: remove the entry", e, o.verdict))
			}
		}
		if !found {
			problems = append(problems, fmt.Sprintf("%v: is listed as equivalent, but there is no such mutant: correct or remove the entry", e))
		}
	}
	return problems
}

// entries writes survivors as entries for the list, without the reasons, which only a
// person knows.
func entries(outcomes []Outcome, list []Equivalent) ([]byte, error) {
	var missing []Equivalent
	for _, o := range outcomes {
		if o.verdict != survived || slices.ContainsFunc(list, func(e Equivalent) bool { return e.is(o.Mutant) }) {
			continue
		}
		e := Equivalent{File: o.File, Function: o.Function, Operator: o.Operator, Original: o.Original, Mutated: o.Mutated}
		if o.Nth > 1 {
			e.Nth = o.Nth
		}
		missing = append(missing, e)
	}
	if missing == nil {
		return nil, nil
	}
	return yaml.Marshal(missing)
}
