//go:build figures && js

// Command queueing is a module of figures for a page. docs/book/figures/build compiles it.
package main

import (
	"github.com/loopwright/loopwright/docs/book/figures/queueing"
	"github.com/loopwright/loopwright/docs/book/figures/shell"
)

func main() { shell.Run("queueing", queueing.Figures) }
