//go:build figures

package watching

import (
	"testing"

	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

func TestTheFigures(t *testing.T) { figuretest.Module(t, "watching", Figures) }
