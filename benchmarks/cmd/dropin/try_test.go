package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/dropin"
)

// TestAProgramIsTriedOnTheRealThings holds that `loopwright try` tells what differs, and nothing else, and
// that a fake client is as the original's unless the program says otherwise.
func TestAProgramIsTriedOnTheRealThings(t *testing.T) {
	benchmarks, err := api.ModuleRoot()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "operator"))))
	writeModule(t, benchmarks, dir)
	before, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	checkout, err := dropin.OpenCheckout(filepath.Join(benchmarks, ".."))
	require.NoError(t, err)
	program, err := dropin.OpenProgram(dir, checkout)
	require.NoError(t, err)
	var progress bytes.Buffer
	result, err := program.Try(t.Context(), dropin.TryOptions{Timeout: 10 * time.Minute}, &progress)
	require.NoError(t, err, progress.String())
	var table bytes.Buffer
	result.Print(&table)
	var differences []string
	for _, d := range result.Differences() {
		differences = append(differences, d.Test+": "+d.Original+", "+d.Ours)
		assert.Contains(t, d.OurOutput, "it is in github.com/loopwright/loopwright/manager/reconcile")
	}
	assert.Equal(t, []string{"TestPath: pass, fail", "TestSpecs/A result when somebody looks is controller-runtime's: pass, fail"},
		differences, table.String())
	assert.Regexp(t, `example.com/operator/ages +ok 3 +ok 3 `, table.String())
	// Of the original's, four specs and the set-up pass; one spec fails, and so the test that runs them.
	assert.Regexp(t, `example.com/operator/specs +FAIL 2 of 8, 1 skipped +FAIL 3 of 8, 1 skipped `, table.String())
	after, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "the tree stays as it is")
}

// writeModule writes a go.mod for a program, with the versions of this module, which are on this
// machine already.
func writeModule(t *testing.T, benchmarks, dir string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(benchmarks, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	edit := exec.Command("go", "mod", "edit", "-module=example.com/operator",
		"-droprequire=github.com/loopwright/loopwright", "-dropreplace=github.com/loopwright/loopwright")
	edit.Dir = dir
	out, err := edit.CombinedOutput()
	require.NoError(t, err, string(out))
}
