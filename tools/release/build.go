package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// build makes what people download: the command for each platform, the book, and their checksums.
func (r release) build(ctx context.Context, notes string) error {
	dir := filepath.Join(r.root, ".loopwright", "release")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var files []string
	for _, platform := range platforms {
		fmt.Fprintf(r.say, "compiling loopwright for %s\n", platform)
		system, processor, _ := strings.Cut(platform, "/")
		name := fmt.Sprintf("loopwright-%s-%s-%s.bin", r.version, system, processor)
		_, err := r.command(ctx, r.root, "env", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor,
			"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, name), "./cmd/loopwright")
		if err != nil {
			return err
		}
		files = append(files, name)
	}
	fmt.Fprintln(r.say, "making the book: a minute or two")
	if _, err := r.command(ctx, r.root, "make", "book"); err != nil {
		return err
	}
	made := filepath.Join(r.root, ".loopwright", "book")
	book, reader := "loopwright-book-"+r.version+".zip", "loopwright-book-"+r.version+".epub"
	if err := zipped(made, filepath.Join(dir, book)); err != nil {
		return err
	}
	if err := os.Link(filepath.Join(made, "loopwright.epub"), filepath.Join(dir, reader)); err != nil {
		return err
	}
	if err := checksums(dir, append(files, book, reader)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "notes.md"), []byte(notes), 0o644)
}

// zipped writes an archive of what is in a directory.
func zipped(dir, name string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	archive := zip.NewWriter(file)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return archive.Close()
}

// checksums writes what `sha256sum --check` reads.
func checksums(dir string, files []string) error {
	var sums strings.Builder
	for _, name := range slices.Sorted(slices.Values(files)) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS.txt"), []byte(sums.String()), 0o644)
}
