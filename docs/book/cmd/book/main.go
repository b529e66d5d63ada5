// Command book makes the book.
//
//	book pages           makes the pages from the texts of the repository
//	book offline DIR     makes what VitePress has built work from a folder, too
//	book serve DIR       shows it on this machine
//
// The Makefile calls them in this order, with VitePress between the first two.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/loopwright/loopwright/docs/book/internal/pages"
	"github.com/loopwright/loopwright/internal/course"
	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "book: "+err.Error())
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "book", Short: "Make the book", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(&cobra.Command{
		Use:   "pages",
		Short: "Make the pages from the texts of the repository",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return makePages() },
	})
	return root
}

func makePages() error {
	root, err := course.FindRoot(".")
	if err != nil {
		return err
	}
	site, err := pages.Open(root)
	if err != nil {
		return err
	}
	return site.Write(filepath.Join(root, "docs", "book"))
}
