package main

import (
	"os"

	"github.com/loopwright/loopwright/docs/book/figures/build"
)

func main() {
	if _, err := build.WriteOverlay("../..", os.Args[1], build.Modules...); err != nil {
		panic(err)
	}
}
