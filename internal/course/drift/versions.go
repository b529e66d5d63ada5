package drift

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Versions are the sources of a module in two versions.
type Versions struct {
	old           string // such as "k8s.io/client-go v0.37.2", for errors
	before, after *tree
}

// Between compares two directories. If they are the same one, nothing has changed. old says to people which
// version is in the first.
func Between(old, before, after string) *Versions {
	return &Versions{old, newTree(before), newTree(after)}
}

// File compares one file of the module.
func (c *Versions) File(file string) (changes []Change, isGone bool, err error) {
	if c.before.dir == c.after.dir {
		return nil, false, nil
	}
	before, err := c.before.pkg(path.Dir(file))
	if err != nil {
		return nil, false, err
	}
	if _, there := before[file]; !there {
		return nil, false, fmt.Errorf("%s has no file %s: correct it in the front matter; `course check` says where", c.old, file)
	}
	after, err := c.after.pkg(path.Dir(file))
	if err != nil {
		return nil, false, err
	}
	_, isThere := after[file]
	changes = compare(file, before, after, func(old declaration) (string, declaration, bool) {
		place, now, found, farErr := c.after.far(old, file)
		err = errors.Join(err, farErr)
		return place, now, found
	})
	return changes, !isThere, err
}

// tree is the source of one version. Files are read when somebody asks for them, and once.
type tree struct {
	dir     string
	parsed  map[string][]declaration
	paths   []string // of all Go files, once far was asked
	content map[string][]byte
}

func newTree(dir string) *tree {
	return &tree{dir: dir, parsed: map[string][]declaration{}, content: map[string][]byte{}}
}

// pkg reads the files of a directory. One that is not there is empty.
func (t *tree) pkg(dir string) (goPackage, error) {
	entries, err := os.ReadDir(filepath.Join(t.dir, filepath.FromSlash(dir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing an original's package: %w", err)
	}
	p := goPackage{}
	for _, e := range entries {
		file := path.Join(dir, e.Name())
		if !e.Type().IsRegular() || !isSource(file) {
			continue
		}
		if p[file], err = t.file(file); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func isSource(file string) bool {
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
}

func (t *tree) file(file string) ([]declaration, error) {
	if known, ok := t.parsed[file]; ok {
		return known, nil
	}
	source, err := t.source(file)
	if err != nil {
		return nil, err
	}
	declarations, err := read(file, source)
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", t.dir, err)
	}
	t.parsed[file] = declarations
	return declarations, nil
}

func (t *tree) source(file string) ([]byte, error) {
	if known, ok := t.content[file]; ok {
		return known, nil
	}
	source, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(file)))
	if err != nil {
		return nil, fmt.Errorf("reading an original: %w", err)
	}
	t.content[file] = source
	return source, nil
}

// far looks for a declaration in all other packages, in the order of their paths.
func (t *tree) far(old declaration, oldFile string) (place string, now declaration, found bool, err error) {
	if err := t.list(); err != nil {
		return "", now, false, err
	}
	_, own := splitLast(old.Name)
	for _, file := range t.paths {
		if path.Dir(file) == path.Dir(oldFile) {
			continue
		}
		source, err := t.source(file)
		if err != nil {
			return "", now, false, err
		}
		if !bytes.Contains(source, []byte(own)) {
			continue // a module may have thousands of files, and parsing costs a hundred times as much
		}
		declarations, err := t.file(file)
		if err != nil {
			return "", now, false, err
		}
		for _, d := range declarations {
			if isSame(old, oldFile, d, file) {
				return file, d, true, nil
			}
		}
	}
	return "", now, false, nil
}

// list finds all Go files that other modules can import.
func (t *tree) list() error {
	if t.paths != nil {
		return nil
	}
	err := filepath.WalkDir(t.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == "third_party") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && isSource(rel) {
			t.paths = append(t.paths, rel)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("looking for a declaration that was moved: %w", err)
	}
	return nil
}
