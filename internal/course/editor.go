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

// editorDir holds the copies for the editor, in a directory for each exercise.
const editorDir = stateDir + "/editor"

// linkPackage makes the learner's directory a whole package for an editor, which then
// knows every name in it. (The go command ignores it in ./..., but gopls asks for it by
// its path.) The other files are those of the exercise's chapter, without tests. What other
// exercises ask for is empty in them, as in the stub: an editor needs the signatures only.
//
// They are links to read-only copies. A link to the library itself would let a learner who
// follows a definition, and tries something there, change the reference for all chapters.
// A copy that was changed all the same, or is old, is written again. A link that is no longer
// right is removed; a learner's own file is never touched.
func (n *runner) linkPackage(e Exercise) error {
	err := n.copyPackage(e)
	if err == nil {
		err = n.explainLinks()
	}
	if err != nil {
		return fmt.Errorf("setting up exercise %s for your editor: %w", e.ID(), err)
	}
	return nil
}

func (n *runner) copyPackage(e Exercise) error {
	dir, copies := path.Dir(e.Mine()), path.Join(editorDir, e.Name)
	files, err := n.packageFiles(e)
	if err != nil {
		return err
	}
	links := map[string]string{} // name -> target
	for _, file := range files {
		text, err := n.repo.editorText(file)
		if err != nil {
			return err
		}
		to := path.Join(copies, path.Base(file))
		if err := n.writeReadOnly(text, to); err != nil {
			return err
		}
		links[path.Base(file)] = path.Join("../..", to)
	}
	if e.more != nil || n.repo.exists(e.furtherMine()) {
		links[furtherTest] = path.Join("../..", e.furtherDir(), furtherTest)
	}
	if err := n.removeFrom(dir, func(name string) bool {
		target, err := os.Readlink(n.repo.Abs(path.Join(dir, name)))
		if err != nil || !strings.HasSuffix(name, ".go") {
			return false // a learner's own
		}
		target = filepath.ToSlash(target)
		// Earlier versions made links to the library, or to copies in this directory.
		ours := strings.HasPrefix(target, "../") || path.Dir(target) == oldCopies
		return ours && target != links[name]
	}); err != nil {
		return err
	}
	if err := os.RemoveAll(n.repo.Abs(path.Join(dir, oldCopies))); err != nil {
		return err
	}
	if err := n.removeFrom(copies, func(name string) bool {
		return links[name] == "" && !strings.HasPrefix(name, ".") // another run may be making one
	}); err != nil {
		return err
	}
	for name, target := range links {
		err := os.Symlink(target, n.repo.Abs(path.Join(dir, name)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// oldCopies is where earlier versions of the course kept the copies.
const oldCopies = ".package"

// editorText is what an editor needs of a file of mini.
func (r *Repo) editorText(file string) ([]byte, error) {
	exercises, err := r.allExercises()
	if err != nil {
		return nil, err
	}
	for _, e := range exercises {
		if e.Replaces == file {
			stub, _, err := r.emptied(e)
			return fmt.Appendf(nil, "// A copy for your editor. Exercise %s is to write what is empty here; %s has it.\n\n%s", e.ID(), file, stub), err
		}
	}
	return r.read(file)
}

// explainLinks says once, in a file, what else is in the learner's directories.
func (n *runner) explainLinks() error {
	const text = `# Your solutions

Each exercise has a directory, and one file in it is yours: ` + "`queue.go`" + ` in ` + "`06-queue/`" + `. Nothing overwrites it. The other
Go files beside it are links, so that your editor knows the rest of the package. They lead to read-only copies in which the
solutions of other exercises are left out. Nothing is compiled with them: your file is tried with the files in ` + "`mini/`" + `.
` + "`further_test.go`" + ` is a link, too: the test of ` + "`make further-6`" + `.
In ` + "`06-queue-bug/`" + `, the file is one that ` + "`make bug-6`" + ` has planted a mistake in.
`
	f, err := os.OpenFile(n.repo.Abs(path.Join(myDir, "README.md")), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
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

// writeReadOnly leaves a copy alone that is right: an editor would load it again. It renames
// the new one to its place, because the old one cannot be written to.
func (n *runner) writeReadOnly(text []byte, to string) error {
	old, err := os.ReadFile(n.repo.Abs(to))
	info, statErr := os.Lstat(n.repo.Abs(to))
	if err == nil && statErr == nil && bytes.Equal(old, text) && info.Mode() == 0o444 {
		return nil
	}
	dir := n.repo.Abs(path.Dir(to))
	if err := n.repo.makeState(path.Dir(to)); err != nil {
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
