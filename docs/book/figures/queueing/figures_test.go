//go:build figures

package queueing

import (
	"testing"

	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

func TestTheFigures(t *testing.T) { figuretest.Module(t, "queueing", Figures) }
