// Package course is the course tool: it knows what a chapter and an exercise
// are, checks that the tree agrees, and runs them.
//
// The chapter.yaml and the texts of chapters/NN-name go in; overlays for the go
// command, test results in plain words, and Markdown with code cut from the real
// files come out.
//
// Neighbours: below it are the go command and the file system. Above it is
// internal/course/cmd/course, the command line that the Makefile calls.
package course

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Repo is a tree to work on. All paths in this package are relative to Root
// and use slashes, except where a name says Abs.
type Repo struct {
	Root   string   // absolute
	Module string   // the module path in Root/go.mod
	Order  []string // the files of mini, in the order of the chapters
	Env    []string // added to the environment of the go command; tests set it

	patience time.Duration // what takes longer than this is announced; tests set it
}

// Open reads the module path of the tree at root.
func Open(root string) (*Repo, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("finding the course: %w", err)
	}
	mod, err := os.ReadFile(filepath.Join(abs, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("reading the module path of %s: %w", abs, err)
	}
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return &Repo{Root: abs, Module: strings.TrimSpace(name), Order: miniOrder, patience: 3 * time.Second}, nil
		}
	}
	return nil, fmt.Errorf("%s has no module line", filepath.Join(abs, "go.mod"))
}

// FindRoot goes up from dir to the first directory that has both a go.mod and
// chapters/. A nested module (benchmarks/) has only the first.
func FindRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the course: %w", err)
	}
	for d := abs; ; d = filepath.Dir(d) {
		if isFile(filepath.Join(d, "go.mod")) && isDir(filepath.Join(d, "chapters")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("neither %s nor a directory above it has go.mod and chapters/: run this inside the checkout, or pass --root", abs)
		}
	}
}

// Abs is the absolute path of a file in the tree.
func (r *Repo) Abs(rel string) string { return filepath.Join(r.Root, filepath.FromSlash(rel)) }

func (r *Repo) read(rel string) ([]byte, error) { return os.ReadFile(r.Abs(rel)) }

func (r *Repo) has(rel string) bool { return isFile(r.Abs(rel)) }

// GoFiles lists the Go files that the go command sees in the main module, and
// that are built without extra tags: sorted, without my/.
func (r *Repo) GoFiles() ([]string, error) {
	var files []string
	err := r.walk(func(rel string) error {
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		off, err := r.switchedOff(rel)
		if err == nil && !off {
			files = append(files, rel)
		}
		return err
	}, func(rel, name string) bool {
		return strings.HasPrefix(name, "_") || name == "testdata" || r.has(path.Join(rel, "go.mod"))
	})
	return files, err
}

// switchedOff reports whether a file is no part of any build: its constraint
// is a bare tag of ours, such as ignore or seed. Files for other systems
// (_windows.go, //go:build linux) do count.
func (r *Repo) switchedOff(rel string) (bool, error) {
	text, err := r.read(rel)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", rel, err)
	}
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if tag, ok := strings.CutPrefix(line, "//go:build "); ok {
			return slices.Contains([]string{"ignore", "seed", "tools"}, strings.TrimSpace(tag)), nil
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return false, nil
}

// generated is what the book's generator writes: no source of anything.
var generated = []string{"docs/book/pages", "docs/book/public"}

// walk calls visit for each regular file, in sorted order. Hidden directories,
// node_modules, my/, what is generated, and whatever skip says are left out.
func (r *Repo) walk(visit func(rel string) error, skip func(rel, name string) bool) error {
	return filepath.WalkDir(r.Root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			// Others may be at work in the tree; a file that went away is not here.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("looking for files: %w", err)
		}
		rel, err := filepath.Rel(r.Root, p)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			name := d.Name()
			if strings.HasPrefix(name, ".") || name == "node_modules" || rel == "my" || slices.Contains(generated, rel) || skip(rel, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return visit(rel)
	})
}

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}
