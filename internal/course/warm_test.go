package course

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noOriginals is the tiny tree without the module that requires something: nothing of that can be downloaded.
func noOriginals(changes map[string]string) map[string]string {
	all := map[string]string{"benchmarks/go.mod": ""}
	for name, text := range changes {
		all[name] = text
	}
	return all
}

// The room has no network, and twenty people want to begin.
func TestWarmMakesReadyForADayWithoutANetwork(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, noOriginals(nil))
	var out strings.Builder
	require.NoError(t, r.Warm(t.Context(), &out))
	text := out.String()
	for _, step := range []string{"downloading the modules of go.mod ...\n", "compiling the library, the demos and the commands ...\n", "compiling the tests of exercise 1 (1 of 1) ...\n", "Ready for a day without a network, after "} {
		require.Contains(t, text, step)
		text = text[strings.Index(text, step)+len(step):]
	}
	assert.Contains(t, text, "modules           1 MB", "what was there is counted")
	assert.Contains(t, text, filepath.Join(r.Root, ".modcache"))
}

// "exit status 1" would tell a teacher nothing, the evening before the class.
func TestWithoutANetworkWarmSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	var out strings.Builder
	err := r.Warm(t.Context(), &out)
	require.ErrorContains(t, err, "the modules of benchmarks/go.mod could not all be downloaded:\n\n    go: ")
	assert.ErrorContains(t, err, "module lookup disabled by GOPROXY=off")
	assert.ErrorContains(t, err, "`make warm` goes on from there")
	assert.NotContains(t, out.String(), "Ready")
}

// An exercise whose tests do not compile is found before the class, not by the class.
func TestWarmFindsTestsThatDoNotCompile(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, noOriginals(map[string]string{"mini/sum_test.go": tiny["mini/sum_test.go"] + "\nvar _ = undefined\n"}))
	require.ErrorContains(t, r.Warm(t.Context(), &strings.Builder{}), "compiling the tests of exercise 1: ")
}
