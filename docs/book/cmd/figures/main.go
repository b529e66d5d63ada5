// Command figures writes what the book's pages load when a reader opens a figure: the figures as WebAssembly, and the
// script that shows them. It fails if a module is larger than it may be.
//
//	figures -o DIR          # NAME.wasm.gz, NAME.wasm.js, wasm_exec.js, figures.js, figures.css
//	figures -o DIR -page    # and index.html, a page with all figures, to look at while you change them
//	figures -overlay DIR    # only the overlay, for go test -overlay DIR/overlay.json -tags figures ./figures/queueing
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loopwright/loopwright/docs/book/figures/build"
)

func main() {
	out := flag.String("o", "", "the `directory` to write to")
	root := flag.String("root", filepath.Join("..", ".."), "the root of the checkout, from docs/book")
	page := flag.Bool("page", false, "write index.html, a page with all figures")
	overlay := flag.String("overlay", "", "the `directory` to write the overlay of all modules to")
	flag.Parse()
	if *out == "" && *overlay == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *overlay != "" {
		_, err = build.WriteOverlay(*root, *overlay, build.Modules...)
	} else {
		err = run(*root, *out, *page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(root, out string, page bool) error {
	sizes, err := build.Site(root, out)
	if err != nil {
		return err
	}
	for _, size := range sizes {
		fmt.Printf("%-12s %6.2f MB compressed (%.2f MB may be), %6.2f MB\n", size.Module.Name, megabytes(size.Compressed), megabytes(size.Module.Limit), megabytes(size.Raw))
	}
	if page {
		return build.Page(root, out)
	}
	return nil
}

func megabytes(bytes int) float64 { return float64(bytes) / 1e6 }
