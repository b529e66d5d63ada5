//go:build figures && js

// Command watching is a module of figures for a page. docs/book/figures/build compiles it.
package main

import (
	"github.com/loopwright/loopwright/docs/book/figures/shell"
	"github.com/loopwright/loopwright/docs/book/figures/watching"
)

func main() { shell.Run("watching", watching.Figures) }
