package main

import (
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

const testPackages = "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/"

// testModule has read the packages in testdata. Each test generates its own drop-in of them.
var testModule = sync.OnceValues(func() (*module, error) {
	m := &module{
		paths: migrate.Paths{
			Theirs: testPackages + "theirs/pkg", TheirRoot: testPackages + "theirs",
			Ours: testPackages + "ours/manager", OurRoot: testPackages + "ours",
			Moved: map[string]string{testPackages + "queues/theirs": testPackages + "queues/ours"},
		},
		version: "v1.2.3", dir: filepath.Join("testdata", "byhand"),
	}
	return m, m.read(".")
})

// pretended generates a drop-in of the packages in testdata.
func pretended(t *testing.T, r *reasons) *module {
	t.Helper()
	read, err := testModule()
	require.NoError(t, err)
	m := *read
	m.reasons = r
	require.NoError(t, m.generate())
	return &m
}

var whyNot = &reasons{Lacks: []*reason{{Package: "thing", Names: []string{"FromOther", "GenericLess", "Missing", "OtherResult"}, Why: "It's a test."}}}

// TestEachKindOfNameIsForwarded compares the generated files with those in testdata, which a reader
// should look at when they change: UPDATE=1 writes them.
func TestEachKindOfNameIsForwarded(t *testing.T) {
	for _, file := range pretended(t, whyNot).files() {
		name := filepath.Join("testdata", "want", strings.ReplaceAll(file.File, "/", "_")+".txt")
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(name, file.Text, 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(file.Text), name)
	}
}

// TestAValueOfTheDropInIsAValueOfOurs holds that a program can hand what it made to a library of ours.
func TestAValueOfTheDropInIsAValueOfOurs(t *testing.T) {
	p := pretended(t, whyNot).packages[testPackages+"theirs/pkg/thing"]
	for _, name := range []string{"Struct", "Public", "Short"} {
		assert.True(t, types.Identical(p.compiled.Scope().Lookup(name).Type(), p.counterpart.Scope().Lookup(name).Type()), name)
	}
}

// TestANameThatCannotBeForwardedNeedsAReason holds that none gets lost by accident, and that the list
// of those that are missing is true.
func TestANameThatCannotBeForwardedNeedsAReason(t *testing.T) {
	all := pretended(t, &reasons{}).complaints()
	text := strings.Join(all, "\n")
	assert.Contains(t, text, "thing.GenericLess can't be forwarded, and explained.yaml doesn't say why: type parameters: 1 there, 0 here")
	assert.Contains(t, text, "thing.Missing can't be forwarded, and explained.yaml doesn't say why: there is no "+testPackages+"ours/manager/thing.Missing")
	assert.Contains(t, text, "thing.OtherResult can't be forwarded, and explained.yaml doesn't say why: cannot use loopwright.OtherResult()")
	assert.Contains(t, text, "thing.FromOther can't be forwarded, and explained.yaml doesn't say why: undefined: GenericLess")
	assert.Contains(t, text, "thing.Mistyped is written by hand, and controller-runtime has no such name")
	assert.Len(t, all, 5, text)

	m := pretended(t, &reasons{Lacks: append(whyNot.Lacks, &reason{Package: "thing", Names: []string{"Struct"}, Why: "x"})})
	assert.Equal(t, []string{
		"thing.Mistyped is written by hand, and controller-runtime has no such name",
		"explained.yaml says why thing.Struct can't be forwarded, and it can",
	}, m.complaints())
}

// TestABrokenListOfReasonsIsRefused holds that a typing error doesn't silence the generator.
func TestABrokenListOfReasonsIsRefused(t *testing.T) {
	for _, test := range []struct{ what, text, want string }{
		{"an unknown field", "lacks: [{package: a, names: [b], whi: c}]", "field whi not found"},
		{"no reason", "lacks: [{package: a, names: [b]}]", `"a", ["b"] and ""`},
	} {
		t.Run(test.what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "explained.yaml")
			require.NoError(t, os.WriteFile(file, []byte(test.text), 0o600))
			_, err := readReasons(file)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestTheDropInIsUpToDate holds that dropin/ and its list in docs/porting.md say what is true now.
func TestTheDropInIsUpToDate(t *testing.T) {
	assert.NoError(t, run(true))
}

// TestAPackageThatIsGoneLeavesNoFile holds that the drop-in has no package that controller-runtime hasn't.
func TestAPackageThatIsGoneLeavesNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dropin")
	for name, text := range map[string]string{
		"pkg/gone/gone.go": generated + "\npackage gone\n", "pkg/kept/kept.go": generated + "\npackage kept\n", "pkg/hand/hand.go": "package hand\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	stale, err := (&module{dir: dir}).stale([]api.Written{{File: "dropin/pkg/kept/kept.go"}})
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "pkg", "gone", "gone.go")}, stale)
}

// TestTheListIsInItsPlace holds that docs/porting.md lists what is missing, and keeps what else it says.
func TestTheListIsInItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "porting.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+listBegin+"old\n"+listEnd+"after\n"), 0o600))
	list, err := pretended(t, whyNot).list(file)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+listBegin+`
Of controller-runtime v1.2.3 it has 17 names. These are missing:

| package | names | why |
|---|---|---|
| thing | `+"`FromOther`, `GenericLess`, `Missing`, `OtherResult`"+` | It's a test. |

`+listEnd+"after\n", string(list.Text))

	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	_, err = pretended(t, whyNot).list(file)
	assert.ErrorContains(t, err, "has no place for the list of missing names")
}
