package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/dropin"
)

// The table is what was measured, and not what somebody has typed.
func TestTheTableIsThatOfTheRecord(t *testing.T) {
	name, err := docs("porting.md")
	require.NoError(t, err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	page, err := withTable(string(text))
	require.NoError(t, err)
	assert.Equal(t, page, string(text), "run `go run ./cmd/operators -write` in benchmarks/")
}

// An operator that was played and isn't on the list any more would leave the table without a word.
func TestEachRowIsOfAnOperatorOnTheList(t *testing.T) {
	all, err := operators()
	require.NoError(t, err)
	names := map[string]string{}
	for _, o := range all {
		names[o.Name] = o.Version
		assert.NotEmpty(t, o.Packages, o.Name)
	}
	rows, err := readRows()
	require.NoError(t, err)
	for _, r := range rows {
		assert.Equal(t, names[r.Name], r.Version, "%s was played in this version", r.Name)
	}
}

func TestARatioIsPublishedIfTheRunsAgree(t *testing.T) {
	assert.Equal(t, "1.00", ratio([]float64{0.95, 1.05}))
	assert.Equal(t, "-", ratio([]float64{0.8, 1.2}))
	zero := 0.0
	assert.Equal(t, "-", ratio([]float64{zero / zero, zero / zero}), "no time was spent")
	assert.Empty(t, ratio([]float64{0.95}), "one run agrees with itself whatever it was")
	assert.Equal(t, "not measured", measured("", "4", "s"))
}

// A test that fails in one of two runs fails now and then, on both sides.
func TestWhatDiffersInEachRunDiffers(t *testing.T) {
	refused := func(names ...string) *dropin.Result {
		result := &dropin.Result{}
		for _, name := range names {
			result.Packages = append(result.Packages, &dropin.PackageResult{
				Name: name, Original: &dropin.Outcome{NoTests: true}, Ours: &dropin.Outcome{Refused: "no"}})
		}
		return result
	}
	r := add(operator{Name: "web"}, false, []*dropin.Result{refused("a", "b"), refused("b", "c")})
	assert.Equal(t, []string{"b"}, r.Differs)
}

// Ours to the original's, and not the other way round; of packages that run one after the other, the
// time adds up, and the memory doesn't.
func TestARowHasTheTimeOfAllPackagesAndTheMemoryOfTheLargest(t *testing.T) {
	did := func(spent time.Duration, megabytes int64) *dropin.Outcome {
		return &dropin.Outcome{NoTests: true, Spent: spent, Peak: megabytes * 1_000_000}
	}
	result := &dropin.Result{Packages: []*dropin.PackageResult{
		{Name: "a", Original: did(time.Second, 100), Ours: did(2*time.Second, 80)},
		{Name: "b", Original: did(3*time.Second, 60), Ours: did(4*time.Second, 50)},
	}}
	r := add(operator{Name: "web", Version: "v1.0.0"}, true, []*dropin.Result{result, result})
	assert.Equal(t, row{Name: "web", Version: "v1.0.0", Original: "0 pass", Ours: "0 pass", Differs: []string{},
		Spent: "1.50", SpentOf: "4", Peak: "0.80", PeakOf: "100", Envtest: true}, r)
}

// An operator that's played again takes its old row's place, and the others keep theirs.
func TestARowTakesThePlaceOfTheOlderOneAndIsReadAsItWasWritten(t *testing.T) {
	other := row{Name: "web", Version: "v1.0.0", Original: "1 pass", Ours: "1 pass", Spent: "-", SpentOf: "4", Envtest: true}
	older := row{Name: "disk", Version: "v1.0.0"}
	newer := row{Name: "disk", Version: "v2.0.0", Original: "3 pass", Ours: "1 pass, 2 fail",
		Differs: []string{"p TestA/it waits, and waits", "p TestB"}}
	text, err := format(with([]row{older, other}, newer))
	require.NoError(t, err)
	rows, err := parse(text)
	require.NoError(t, err)
	assert.Equal(t, []row{newer, other}, rows)
	_, err = parse("operator,something else\n")
	assert.ErrorContains(t, err, "another head")
}

// A reader of the table sees what was run, and what differs and why.
func TestTheTableSaysWhatRanAndWhatDiffers(t *testing.T) {
	o := operator{Name: "web", Packages: []string{"./a/..."}, Envtest: []string{"./b"}, Why: "A race on both sides"}
	assert.Equal(t, []string{"./a/..."}, o.played(false))
	assert.Equal(t, []string{"./a/...", "./b"}, o.played(true))
	r := row{Name: "web", Version: "v1.0.0", Original: "3 pass", Ours: "2 pass, 1 fail", Differs: []string{"p TestA"},
		Spent: "1.50", SpentOf: "4", Peak: "-", PeakOf: "100"}
	line := "| web v1.0.0 | `./a/...` | 3 pass | 2 pass, 1 fail | p TestA. A race on both sides | 1.50 of 4 s | the runs disagree |\n"
	assert.Contains(t, table([]operator{o}, []row{r}), line)
	r.Envtest = true
	assert.Contains(t, table([]operator{o}, []row{r}), "| `./a/...`; with envtest `./b` |")
}

// An operator that is moved to other versions than ours isn't compared with what it will run on.
func TestAnOperatorIsMovedToTheVersionsOfThisModule(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.mod")
	text := "module x\n\nrequire (\n"
	for i, path := range moved {
		text += fmt.Sprintf("\t%s v0.%d.0\n", path, i)
	}
	require.NoError(t, os.WriteFile(name, []byte(text+")\n"), 0o600))
	versions, err := ourVersions(name)
	require.NoError(t, err)
	assert.Len(t, versions, len(moved))
	assert.Equal(t, moved[1]+"@v0.1.0", versions[1])
	require.NoError(t, os.WriteFile(name, []byte("module x\n"), 0o600))
	_, err = ourVersions(name)
	assert.ErrorContains(t, err, "doesn't require sigs.k8s.io/controller-runtime")
}

// A module's files are read-only, and go.mod has to change.
func TestACopyCanBeChanged(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "vendor", "x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "vendor", "x", "x.go"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(from, "go.mod"), []byte("module x\n"), 0o444))
	require.NoError(t, os.MkdirAll(filepath.Join(from, ".git", "objects"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(from, "docs"), 0o755))
	require.NoError(t, os.Symlink("docs", filepath.Join(from, "link")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(from, "broken")))
	require.NoError(t, copyTree(from, to))
	info, err := os.Stat(filepath.Join(to, "go.mod"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o200, "root can write to any file, so the mode has to show it")
	require.NoError(t, os.WriteFile(filepath.Join(to, "go.mod"), []byte("module y\n"), 0o600))
	assert.NoDirExists(t, filepath.Join(to, "vendor"))
	assert.NoDirExists(t, filepath.Join(to, ".git"))
	assert.NoFileExists(t, filepath.Join(to, "link"))
}

// A repository of several modules replaces one by its neighbour, which a downloaded module doesn't
// have beside it: `go get` would refuse. What's in the module, and what has a version, stays.
func TestReplacementsThatLeadOutOfTheTreeGo(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.mod")
	require.NoError(t, os.WriteFile(name, []byte(`module x

require y v1.0.0

replace (
	y => ../y
	z v1.2.0 => /home/somebody/z
)

replace inside => ./inside

replace fork => example.com/fork v1.0.0
`), 0o600))
	require.NoError(t, dropNeighbours(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, `module x

require y v1.0.0

replace inside => ./inside

replace fork => example.com/fork v1.0.0
`, string(text))
}
