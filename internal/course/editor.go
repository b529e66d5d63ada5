package course

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// linkPackage puts links to the rest of the package next to the learner's file:
// so the directory is a whole package, and an editor knows every name in it.
// (The go command ignores it in ./..., but gopls asks for it by its path.) They
// are the files of the exercise's chapter, without tests. Links that are no
// longer right are removed; a learner's own file is never touched.
func (n *runner) linkPackage(e Exercise) error {
	pkg, dir := path.Dir(e.Replaces), path.Dir(e.Mine())
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	hidden := n.owners.Hidden(e.Chapter)
	wanted := map[string]string{}
	for _, file := range n.files {
		_, later := slices.BinarySearch(hidden, file)
		if path.Dir(file) == pkg && file != e.Replaces && !later && !strings.HasSuffix(file, "_test.go") {
			wanted[path.Base(file)] = up + file
		}
	}
	entries, err := os.ReadDir(n.repo.Abs(dir))
	if err != nil {
		return fmt.Errorf("setting up exercise %s for your editor: %w", e.ID, err)
	}
	missing := maps.Clone(wanted)
	for _, entry := range entries {
		target, err := os.Readlink(n.repo.Abs(path.Join(dir, entry.Name())))
		ours := err == nil && strings.HasPrefix(filepath.ToSlash(target), up) && strings.HasSuffix(entry.Name(), ".go")
		if ours && target != wanted[entry.Name()] {
			if err := os.Remove(n.repo.Abs(path.Join(dir, entry.Name()))); err != nil {
				return fmt.Errorf("setting up exercise %s for your editor: %w", e.ID, err)
			}
			continue
		}
		delete(missing, entry.Name())
	}
	for _, name := range sortedKeys(missing) {
		if err := os.Symlink(wanted[name], n.repo.Abs(path.Join(dir, name))); err != nil {
			return fmt.Errorf("setting up exercise %s for your editor: %w", e.ID, err)
		}
	}
	return nil
}
