package course

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// packageDir is where the copies for the editor are, below the learner's directory.
const packageDir = ".package"

// linkPackage makes the learner's directory a whole package for an editor, which then
// knows every name in it. (The go command ignores it in ./..., but gopls asks for it by
// its path.) The other files are those of the exercise's chapter, without tests.
//
// They are links to read-only copies. A link to the library itself would let a learner who
// follows a definition, and tries something there, change the reference for all chapters.
// A copy that was changed all the same, or is old, is written again. A link that is no longer
// right is removed; a learner's own file is never touched.
func (n *runner) linkPackage(e Exercise) error {
	if err := n.copyPackage(e); err != nil {
		return fmt.Errorf("setting up exercise %s for your editor: %w", e.ID(), err)
	}
	return nil
}

func (n *runner) copyPackage(e Exercise) error {
	dir := path.Dir(e.Mine())
	wanted, err := n.packageFiles(e)
	if err != nil {
		return err
	}
	for _, file := range wanted {
		if err := n.copyReadOnly(file, path.Join(dir, packageDir, path.Base(file))); err != nil {
			return err
		}
	}
	isWanted := func(name string) bool {
		return slices.ContainsFunc(wanted, func(file string) bool { return path.Base(file) == name })
	}
	if err := n.removeFrom(dir, func(name string) bool {
		target, err := os.Readlink(n.repo.Abs(path.Join(dir, name)))
		if err != nil || !strings.HasSuffix(name, ".go") {
			return false // a learner's own
		}
		target = filepath.ToSlash(target)
		right := target == path.Join(packageDir, name) && isWanted(name)
		// Earlier versions made links to the library, which begin with ../.
		return !right && (path.Dir(target) == packageDir || strings.HasPrefix(target, "../"))
	}); err != nil {
		return err
	}
	if err := n.removeFrom(path.Join(dir, packageDir), func(name string) bool {
		return !isWanted(name) && !strings.HasPrefix(name, ".") // another run may be making one
	}); err != nil {
		return err
	}
	for _, file := range wanted {
		err := os.Symlink(path.Join(packageDir, path.Base(file)), n.repo.Abs(path.Join(dir, path.Base(file))))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// packageFiles are the files of mini that a learner's file is compiled with.
func (n *runner) packageFiles(e Exercise) (files []string, err error) {
	entries, err := os.ReadDir(n.repo.Abs(miniDir))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		file := path.Join(miniDir, entry.Name())
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && file != e.Replaces && !slices.Contains(e.hidden, file) {
			files = append(files, file)
		}
	}
	return files, nil
}

// copyReadOnly leaves a copy alone that is right: an editor would load it again. It renames
// the new one to its place, because the old one cannot be written to.
func (n *runner) copyReadOnly(from, to string) error {
	text, err := n.repo.read(from)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(n.repo.Abs(to))
	info, statErr := os.Lstat(n.repo.Abs(to))
	if err == nil && statErr == nil && bytes.Equal(old, text) && info.Mode() == 0o444 {
		return nil
	}
	dir := n.repo.Abs(path.Dir(to))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o444), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), n.repo.Abs(to))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (n *runner) removeFrom(dir string, unwanted func(name string) bool) error {
	entries, err := os.ReadDir(n.repo.Abs(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if err == nil && unwanted(entry.Name()) {
			err = os.Remove(n.repo.Abs(path.Join(dir, entry.Name())))
		}
	}
	return err
}
