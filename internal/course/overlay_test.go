package course

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnExerciseNeedsNoCluster(t *testing.T) {
	t.Parallel()
	const slow = "package mini\n\nimport \"testing\"\n\nfunc TestOnACluster(t *testing.T) {\n\tif !testing.Short() {\n\t\tt.Fatal(\"no cluster\")\n\t}\n}\n"
	r := tinyTree(t, map[string]string{"mini/slow_test.go": slow, "my/01-sum/sum.go": tiny["mini/sum.go"]})
	solved, err := r.Try(t.Context(), theExercise(t, r), false, io.Discard)
	assert.NoError(t, err)
	assert.True(t, solved)
}

func TestAnOverlayEntryThatPointsNowhereIsRefused(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, c := range []struct {
		overlay Overlay
		want    string
	}{
		{Overlay{"mini/som.go": "mini/sum.go"}, "mini/som.go, which does not exist: the go command would ignore that silently"},
		{Overlay{"mini/sum.go": "my/01-sum/sum.go"}, "by my/01-sum/sum.go, which does not exist"},
		{Overlay{"mini/som.go": ""}, "mini/som.go, which does not exist"},
	} {
		_, _, err := c.overlay.write(r, nil)
		assert.ErrorContains(t, err, c.want)
	}
}
