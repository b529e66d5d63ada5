//go:build figures

package controllers

import (
	"testing"

	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

func TestTheFigures(t *testing.T) { figuretest.Module(t, "controllers", Figures) }
