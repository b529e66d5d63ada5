package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// inBook is what pages load of the playground: its program is in .wasm.gz on a server, and in .wasm.js from a folder.
var inBook = []string{"playground.js", "playground.wasm.gz", "playground.css", "playground.wasm.js"}

// playground compiles the cluster that runs in a page, as `make playground` does and into the same
// directory, where the compiler finds what it has already made. The book in public gets a copy, and its
// script says how much it is.
func (b Book) playground(ctx context.Context, public string) error {
	if err := b.copyPlayground(ctx, public); err != nil {
		return fmt.Errorf("putting the playground into the book: %w", err)
	}
	return nil
}

func (b Book) copyPlayground(ctx context.Context, public string) error {
	made, to := filepath.Join(b.Root, ".loopwright", "playground"), filepath.Join(public, "playground")
	if err := run(ctx, b.Root, nil, "go", "run", "./playground/build", "-o", made); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range inBook {
		text, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	size, err := os.ReadFile(filepath.Join(made, "size.txt"))
	if err != nil {
		return err
	}
	script := filepath.Join(public, "book", "book.js")
	text, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	return os.WriteFile(script, bytes.ReplaceAll(text, []byte("PLAYGROUND_SIZE"), size), 0o644)
}
