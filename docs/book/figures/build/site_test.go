package build

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// site builds all modules once.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sizes, err := Site(root, dir)
	require.NoError(t, err)
	for _, size := range sizes {
		t.Logf("%s: %d bytes compressed of %d", size.Module.Name, size.Compressed, size.Module.Limit)
	}
	return dir
}

// A reader with a slow connection waits for every byte.
func TestModulesAreWithinTheirLimitsAndRunInNode(t *testing.T) {
	dir := site(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("to run the figures' WebAssembly here, install Node")
	}
	for _, m := range Modules {
		unpack(t, filepath.Join(dir, m.Name+".wasm.gz"), filepath.Join(dir, m.Name+".wasm"))
		output, err := exec.Command(node, filepath.Join("testdata", "run.mjs"), dir, m.Name, strings.Join(m.Figures, ",")).Output()
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			t.Fatalf("%s: %v\n%s", m.Name, err, failed.Stderr)
		}
		require.NoError(t, err)
		var runs []run
		require.NoError(t, json.Unmarshal(output, &runs))
		require.Len(t, runs, len(m.Figures))
		for _, r := range runs {
			t.Logf("%s: %d controls", r.Name, len(r.Used))
			path, err := Picture(root, r.Name)
			require.NoError(t, err)
			picture, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(picture), r.Picture, "%s draws another picture in WebAssembly than natively", r.Name)
			require.Greater(t, len(r.Used), 4, "%s", r.Name)
			require.Empty(t, r.Silent, "these controls of %s say nothing", r.Name)
			require.Greater(t, r.Changed, 2, "the picture of %s hardly ever changes", r.Name)
		}
	}
}

// run is what testdata/run.mjs prints about a figure, after it has used each control.
type run struct {
	Name    string
	Picture string // that of the chapter
	Used    []string
	Silent  []string
	Changed int
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.Open(from)
	require.NoError(t, err)
	defer packed.Close()
	zip, err := gzip.NewReader(packed)
	require.NoError(t, err)
	wasm, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, wasm, 0o644))
}
