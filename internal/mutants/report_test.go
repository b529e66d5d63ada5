package mutants

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wraps that are not nested properly would change what the code means.
func TestSwitchesAreNestedAsTheCodeIs(t *testing.T) {
	got := insert("a+b; c", []wrap{
		{start: 0, end: 3, open: "[", close: "]", inner: true},
		{start: 0, end: 1, open: "<", close: ">"},
		{start: 0, end: 3, open: "{", close: "}"},
		{start: 5, end: 5, open: "!"},
		{start: 5, end: 6, open: "(", close: ")"},
	})
	require.Equal(t, "{[<a>+b]}; (!c)", got)
}

var known = Equivalent{File: "a/b.go", Function: "T.f", Operator: "delete", Original: "x++", Reason: "nothing reads x"}

func outcome(v verdict, original string, nth int) Outcome {
	return Outcome{Mutant: &Mutant{File: "a/b.go", Function: "T.f", Operator: "delete", Original: original, Nth: nth}, verdict: v}
}

// A score that counts what nobody can notice, or what no test reaches, would be a wrong aim.
func TestOnlyWhatCanBeNoticedCounts(t *testing.T) {
	r := tally("a/b.go", "its package", []Outcome{
		outcome(survived, "x++", 1), outcome(survived, "x++", 2), outcome(killed, "y", 1),
		outcome(hung, "z", 1), outcome(killed, "v", 1), outcome(uncovered, "w", 1),
	}, []Equivalent{known})
	require.Equal(t, row{file: "a/b.go", judge: "its package", mutants: 6, covered: 5, killed: 3, survived: 1, equivalent: 1,
		survivors: []string{"`T.f`, delete: `x++` -> ``"}}, r)
	require.InDelta(t, 75, r.score(), 0.01)
}

// An explanation that is no longer true would hide the next survivor.
func TestAnExplanationThatIsNotTrueIsReported(t *testing.T) {
	list := []Equivalent{known}
	require.Empty(t, stale(list, "a/b.go", []Outcome{outcome(survived, "x++", 1)}))
	require.Empty(t, stale(list, "a/other.go", nil), "only the files that were run can tell")
	require.Contains(t, stale(list, "a/b.go", []Outcome{outcome(killed, "x++", 1)})[0], "is killed")
	require.Contains(t, stale(list, "a/b.go", []Outcome{outcome(survived, "y++", 1)})[0], "no such mutant")
}

// A reason is all that tells an equivalent mutant from a missing test.
func TestAnEquivalentMutantNeedsAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "equivalent.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- {file: a/b.go, function: f, operator: delete, original: x++, mutated: ''}\n"), 0o600))
	_, err := readEquivalents(file)
	require.ErrorContains(t, err, "has no reason")
}

// Somebody who runs one file must not lose what is known of the others.
func TestARunOfOneFileKeepsTheRowsOfTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mutants.md")
	all := func(string) bool { return true }
	one := row{file: "a/a.go", judge: "exercise 3", mutants: 9, covered: 8, killed: 6, survived: 1, equivalent: 1, survivors: []string{"`f`, delete: `x`"}}
	two := row{file: "a/b.go", judge: "its package", mutants: 1, covered: 1, killed: 1}
	require.NoError(t, writeSummary(file, []row{one, two}, all))
	changed := two
	changed.mutants = 2
	require.NoError(t, writeSummary(file, []row{changed}, all))
	rows, err := readSummary(file)
	require.NoError(t, err)
	require.Equal(t, map[string]row{"a/a.go": one, "a/b.go": changed}, rows)

	require.NoError(t, writeSummary(file, nil, func(f string) bool { return f != "a/a.go" }))
	rows, err = readSummary(file)
	require.NoError(t, err)
	require.Equal(t, map[string]row{"a/b.go": changed}, rows, "the row of a file that is gone goes, too")
}
