package start

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/build"
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
		{"ours", build.AsOurs},
		{"controller-runtime", build.AsItIs},
	} {
		b.Run(peer.name, func(b *testing.B) {
			var size int64
			for b.Loop() {
				binary, err := build.Program(b.Context(), "program", b.TempDir(), peer.source)
				require.NoError(b, err)
				info, err := os.Stat(binary)
				require.NoError(b, err)
				size = info.Size()
			}
			b.ReportMetric(float64(size)/1e6, "binary-MB")
			b.ReportMetric(0, "ns/op") // how long a build takes says nothing about the program
		})
	}
}

func TestTheProgramIsTheSameForBothLibraries(t *testing.T) {
	source, err := os.ReadFile("program/main.go")
	require.NoError(t, err)
	require.NotContains(t, build.AsOurs(string(source)), "controller-runtime\"")
	require.NotContains(t, build.AsOurs(string(source)), "controller-runtime/")
	require.Contains(t, build.AsOurs(string(source)), `ctrl "github.com/loopwright/loopwright"`)
}
