// Package build makes the whole book: packages of npm, pages, figures, the playground,
// the site, what makes it work from a folder, and the EPUB.
//
// Neighbours: below it are internal/pages, internal/folder, internal/epub, and node. Above it are
// cmd/book and the tests in a browser.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/loopwright/loopwright/docs/book/internal/epub"
	"github.com/loopwright/loopwright/docs/book/internal/folder"
	"github.com/loopwright/loopwright/docs/book/internal/pages"
)

// ErrNoNode is the answer where the site generator cannot run.
var ErrNoNode = errors.New("the book needs Node 20 or later and its npm: install them from https://nodejs.org or with the system's packages")

// Book says what to build.
type Book struct {
	Root string    // the checkout
	Out  string    // the directory that will be the book
	Base string    // the path below which it will be served: "/" or "/loopwright/"
	Log  io.Writer // says what is being done
}

// Build makes the book. What was in Out before is gone.
func (b Book) Build(ctx context.Context) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return ErrNoNode
	}
	dir := filepath.Join(b.Root, "docs", "book")
	if err := Packages(ctx, dir, b.Log); err != nil {
		return err
	}
	fmt.Fprintln(b.Log, "making the pages")
	site, err := pages.Open(b.Root)
	if err != nil {
		return err
	}
	if err := site.Write(dir); err != nil {
		return err
	}
	fmt.Fprintln(b.Log, "drawing the diagrams")
	if err := run(ctx, dir, nil, node, "draw.mjs", "pages", "public"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "cmd", "figures")); err == nil {
		fmt.Fprintln(b.Log, "compiling the figures")
		if err := run(ctx, dir, nil, "go", "run", "./cmd/figures", "-o", filepath.Join("public", "figures")); err != nil {
			return err
		}
	}
	fmt.Fprintln(b.Log, "compiling the playground: two to five minutes the first time, then half a minute")
	if err := b.playground(ctx, filepath.Join(dir, "public")); err != nil {
		return err
	}
	fmt.Fprintln(b.Log, "building the site")
	settings := []string{"BOOK_BASE=" + b.Base, "BOOK_OUT=" + b.Out, "BOOK_PUBLISHED=" + published}
	if err := run(ctx, dir, settings, node, filepath.Join("node_modules", "vitepress", "bin", "vitepress.js"), "build"); err != nil {
		return err
	}
	fmt.Fprintln(b.Log, "writing the EPUB")
	if err := b.epub(dir); err != nil {
		return err
	}
	if err := folder.Make(b.Out, b.Base); err != nil {
		return err
	}
	return folder.Check(b.Out)
}

// epub writes the chapters for e-readers beside the site.
func (b Book) epub(dir string) error {
	file, err := os.Create(filepath.Join(b.Out, "loopwright.epub"))
	if err != nil {
		return fmt.Errorf("writing the EPUB: %w", err)
	}
	return errors.Join(epub.Write(file, epub.Options{
		Pages: filepath.Join(dir, "pages"), Public: filepath.Join(dir, "public"), Published: published, Changed: time.Now(),
	}), file.Close())
}

// published is where people read the book.
const published = "https://loopwright.github.io/loopwright"

// Packages installs what package-lock.json in dir lists, unless it is there.
func Packages(ctx context.Context, dir string, log io.Writer) error {
	locked, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("installing the packages of the book: %w", err)
	}
	mark := filepath.Join(dir, "node_modules", ".installed")
	if installed, err := os.ReadFile(mark); err == nil && bytes.Equal(installed, locked) {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return ErrNoNode
	}
	fmt.Fprintln(log, "installing packages with npm")
	if err := run(ctx, dir, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	if err := os.WriteFile(mark, locked, 0o644); err != nil {
		return fmt.Errorf("installing the packages of the book: %w", err)
	}
	return nil
}

// run shows what a command prints only if it fails.
func run(ctx context.Context, dir string, settings []string, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), settings...)
	printed, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, printed)
	}
	return nil
}
