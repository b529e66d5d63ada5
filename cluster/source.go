package cluster

import (
	"archive/zip"
	"bytes"
	_ "embed" // for the archive
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// carried holds the sources of the nested module controlplane. The zip of a module that the go
// command downloads leaves nested modules out, and go:embed doesn't reach into them, so this
// package carries an archive of it. A test proves that it's current; this renews it:
//
//go:generate go test . -run TestTheCarriedSourcesAreThoseOfTheNestedModule -update
//go:embed controlplane.zip
var carried []byte

// source is where the control plane's sources are.
type source struct {
	files fs.FS
	// dir is the directory of files, or "" if they have to be unpacked first.
	dir string
}

// findSource prefers the checkout in which it runs, where a developer may be changing the sources.
// A program of another module uses the archive.
func findSource() (source, error) {
	if root, err := checkoutRoot(); err == nil {
		dir := filepath.Join(root, "cluster", "controlplane")
		return source{files: os.DirFS(dir), dir: dir}, nil
	}
	archive, err := zip.NewReader(bytes.NewReader(carried), int64(len(carried)))
	if err != nil {
		return source{}, fmt.Errorf("reading the control plane's sources: %w", err)
	}
	return source{files: archive}, nil
}

// unpacked returns a directory with the sources, and a function that removes it again. The caller
// holds the lock for the directory at.
func (s source) unpacked(at string) (dir string, drop func(), err error) {
	if s.dir != "" {
		return s.dir, func() {}, nil
	}
	drop = func() { _ = os.RemoveAll(at) }
	if err = os.RemoveAll(at); err == nil { // left there by a killed process
		err = os.CopyFS(at, s.files)
	}
	if err != nil {
		drop()
		return "", nil, fmt.Errorf("unpacking the control plane's sources: %w", err)
	}
	return at, drop, nil
}

// isSource reports whether a file of the nested module is part of the build.
func isSource(path string) bool {
	name := filepath.Base(path)
	return name == "go.mod" || name == "go.sum" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// eachSource calls visit for each file that is part of the build, sorted by name.
func eachSource(files fs.FS, visit func(path string, content []byte) error) error {
	found := 0
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isSource(path) { // with an error, entry may be nil
			return err
		}
		found++
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return visit(path, content)
	})
	if err == nil && found == 0 {
		return errors.New("there is nothing to build")
	}
	return err
}
