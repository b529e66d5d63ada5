package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
)

// TestUsersProgramsCompileOnTheDropIn holds what the drop-in is for: no line of a program changes, and
// two lines of its go.mod do.
func TestUsersProgramsCompileOnTheDropIn(t *testing.T) {
	root, err := api.ModuleRoot()
	require.NoError(t, err)
	aside := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(aside, name), text, 0o600))
	}
	modfile := filepath.Join(aside, "go.mod")
	edit := exec.Command("go", "mod", "edit", "-replace", "sigs.k8s.io/controller-runtime="+filepath.Join(root, "..", "dropin"), modfile)
	out, err := edit.CombinedOutput()
	require.NoError(t, err, string(out))
	build := exec.Command("go", "build", "-mod=mod", "-modfile="+modfile, "./users/...")
	build.Dir = root
	out, err = build.CombinedOutput()
	require.NoError(t, err, string(out))
}
