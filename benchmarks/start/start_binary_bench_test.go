package start

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkBinary is the size of the program in package program, without symbols, as it is in an image.
func BenchmarkBinary(b *testing.B) {
	if testing.Short() {
		b.Skip("it builds two binaries")
	}
	for _, peer := range []struct {
		name   string
		source func(string) string
	}{
		{"ours", asOurs},
		{"controller-runtime", func(source string) string { return source }},
	} {
		b.Run(peer.name, func(b *testing.B) {
			var size int64
			for b.Loop() {
				size = sizeOf(b, peer.source)
			}
			b.ReportMetric(float64(size)/1e6, "binary-MB")
			b.ReportMetric(0, "ns/op") // how long a build takes says nothing about the program
		})
	}
}

// asOurs replaces the import paths, and nothing else.
func asOurs(source string) string {
	return strings.NewReplacer(
		`"sigs.k8s.io/controller-runtime/pkg/`, `"github.com/loopwright/loopwright/manager/`,
		`"sigs.k8s.io/controller-runtime"`, `"github.com/loopwright/loopwright"`,
	).Replace(source)
}

// sizeOf builds the program from a source that is made of its own.
func sizeOf(tb testing.TB, change func(string) string) int64 {
	tb.Helper()
	original, err := filepath.Abs("program/main.go")
	require.NoError(tb, err)
	source, err := os.ReadFile(original)
	require.NoError(tb, err)
	dir := tb.TempDir()
	changed, binary, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "program"), filepath.Join(dir, "overlay.json")
	require.NoError(tb, os.WriteFile(changed, []byte(change(string(source))), 0o600))
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	require.NoError(tb, err)
	require.NoError(tb, os.WriteFile(overlay, replaced, 0o600))
	build := exec.CommandContext(tb.Context(), "go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", binary, "./program")
	output, err := build.CombinedOutput()
	require.NoError(tb, err, string(output))
	info, err := os.Stat(binary)
	require.NoError(tb, err)
	return info.Size()
}

func TestTheProgramIsTheSameForBothLibraries(t *testing.T) {
	source, err := os.ReadFile("program/main.go")
	require.NoError(t, err)
	require.NotContains(t, asOurs(string(source)), "controller-runtime\"")
	require.NotContains(t, asOurs(string(source)), "controller-runtime/")
	require.Contains(t, asOurs(string(source)), `ctrl "github.com/loopwright/loopwright"`)
}
