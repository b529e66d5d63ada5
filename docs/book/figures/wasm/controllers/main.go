//go:build figures && js

// Command controllers is a module of figures for a page. docs/book/figures/build compiles it.
package main

import (
	"github.com/loopwright/loopwright/docs/book/figures/controllers"
	"github.com/loopwright/loopwright/docs/book/figures/shell"
)

func main() { shell.Run("controllers", controllers.Figures) }
