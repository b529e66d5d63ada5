// Command book makes the book and shows it.
//
//	book build [DIR]      makes the book: the next two, with VitePress between them
//	book pages            makes the pages from the texts of the repository
//	book offline [DIR]    makes what VitePress has built work from a folder, and checks its links
//	book serve [DIR]      serves the book on this machine until Ctrl-C
//
// BOOK_BASE is the path below which the book will be published, "/loopwright/".
//
// Neighbours: below it are internal/build, internal/pages, internal/folder and
// internal/serve. Above it is the Makefile.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loopwright/loopwright/docs/book/internal/build"
	"github.com/loopwright/loopwright/docs/book/internal/folder"
	"github.com/loopwright/loopwright/docs/book/internal/pages"
	"github.com/loopwright/loopwright/docs/book/internal/serve"
	"github.com/loopwright/loopwright/internal/course"
	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "book: "+err.Error())
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "book", Short: "Make the book and show it", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(
		&cobra.Command{
			Use: "build [DIR]", Short: "Make the book", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return makeBook(c.Context(), args, c.OutOrStdout()) },
		},
		&cobra.Command{
			Use: "pages", Short: "Make the pages from the texts of the repository", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return makePages() },
		},
		&cobra.Command{
			Use: "offline [DIR]", Short: "Make the built book work from a folder, and check its links", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return offline(args) },
		},
		&cobra.Command{
			Use: "serve [DIR]", Short: "Serve the book on this machine until Ctrl-C; PORT=8080", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return show(c.Context(), args, c.OutOrStdout()) },
		},
	)
	return root
}

func makeBook(ctx context.Context, args []string, log io.Writer) error {
	root, err := course.FindRoot(".")
	if err != nil {
		return err
	}
	out, err := built(args)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := (build.Book{Root: root, Out: out, Base: base(), Log: log}).Build(ctx); err != nil {
		return err
	}
	fmt.Fprintf(log, "The book is in %s: open index.html there, or run `make book-serve`.\n", out)
	return nil
}

func base() string { return cmp.Or(os.Getenv("BOOK_BASE"), "/") }

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

// built is the directory with the book: where VitePress puts it, unless it is named.
func built(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	root, err := course.FindRoot(".")
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".loopwright", "book"), nil
}

func offline(args []string) error {
	dir, err := built(args)
	if err != nil {
		return err
	}
	if err := folder.Make(dir, base()); err != nil {
		return err
	}
	return folder.Check(dir)
}

func show(ctx context.Context, args []string, out io.Writer) error {
	dir, err := built(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		return fmt.Errorf("there is no book in %s: `make book` makes it", dir)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "0"))
	if err != nil {
		return fmt.Errorf("serving the book: %w", err)
	}
	fmt.Fprintf(out, "The book is at http://%s%s until Ctrl-C.\n", listener.Addr(), base())
	server := &http.Server{Handler: serve.Handler(dir, base()), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the book: %w", err)
	}
	return nil
}
