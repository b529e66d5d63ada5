package envtest

import (
	"os"
	"testing"

	"github.com/loopwright/loopwright/cluster"
)

// BenchmarkStart measures a warm start: the control plane has been compiled before.
func BenchmarkStart(b *testing.B) {
	if testing.Short() {
		b.Skip("needs a control plane, which -short leaves out")
	}
	b.Setenv(existingVariable, "")
	if err := cluster.Build(b.Context(), os.Stderr); err != nil { // unless that was done before
		b.Fatal(err)
	}
	for b.Loop() {
		environment := &Environment{}
		if _, err := environment.Start(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := environment.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
