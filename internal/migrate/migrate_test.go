package migrate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// The commands in cmd/loopwright/testdata/script test what a user sees; here is what they cannot reach.

func TestAPortedModuleAsksForTheSameGoAsThisOne(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	own, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	assert.Equal(t, own.Go.Version, goVersion)
}

func TestTheNamesAreSortedAsLookUpsNeedThem(t *testing.T) {
	names, err := Known()
	require.NoError(t, err)
	require.NotNil(t, names.find(ControllerRuntime.TheirRoot))
	for _, p := range names.Packages {
		assert.Same(t, p, names.find(p.Theirs))
		assert.True(t, slices.IsSorted(p.Names), p.Theirs)
	}
}

func TestEveryPackageThatMovesIsKnown(t *testing.T) {
	names, err := Known()
	require.NoError(t, err)
	for theirs, ours := range ControllerRuntime.Moved {
		known := names.find(theirs)
		if assert.NotNil(t, known, theirs) {
			assert.Equal(t, ours, known.Ours)
		}
	}
}

// A file that somebody edits while the tree is being ported keeps the edit.
func TestAFileThatChangesInTheMeantimeIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(name, []byte("edited"), 0o600))
	plan := &Plan{dir: dir, Changes: []Change{{Name: "main.go", Before: []byte("read"), After: []byte("ported")}}}
	require.ErrorContains(t, plan.WriteInPlace(t.Context(), true), "main.go has changed in the meantime")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "edited", string(text))
}

// Whoever tries again finds nothing in the way.
func TestAFailureLeavesNoHalfOfATree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	require.NoError(t, os.WriteFile(filepath.Join(from, "main.go"), []byte("package main"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(from, "link")))
	require.NoError(t, (&Plan{dir: from}).WriteTo(to), "a link that leads nowhere is copied as it is")
	require.NoError(t, os.RemoveAll(to))

	missing := &Plan{dir: filepath.Join(from, "missing")}
	require.Error(t, missing.WriteTo(to))
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	assert.Empty(t, left)
}
