package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// WriteTo writes the tree, with what changes, into a directory that does not exist or is empty. If it fails,
// the directory is as it was.
func (p *Plan) WriteTo(dir string) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	inside, err := within(p.dir, dir)
	if err != nil {
		return err
	}
	if inside {
		return fmt.Errorf("%s is within the tree that is to be ported: name a directory elsewhere", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and what is there is not to be mixed with this: remove it, or name another directory", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".port-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(unfinished)) }()
	tree := filepath.Join(unfinished, "tree")
	if err := p.copyTo(tree); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(tree, dir)
}

// within reports whether a directory is the same as another one or lies below it.
func within(tree, dir string) (bool, error) {
	tree, err := filepath.Abs(tree)
	if err != nil {
		return false, err
	}
	if real, err := filepath.EvalSymlinks(tree); err == nil {
		tree = real
	}
	// What does not exist yet has no links in it.
	existing, rest := dir, ""
	for {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			dir = filepath.Join(real, rest)
			break
		}
		if existing == filepath.Dir(existing) {
			break
		}
		rest = filepath.Join(filepath.Base(existing), rest)
		existing = filepath.Dir(existing)
	}
	relative, err := filepath.Rel(tree, dir)
	if err != nil {
		return false, nil // on another volume
	}
	return relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator)), nil
}

// copyTo copies the tree, except for .git, with what changes.
func (p *Plan) copyTo(to string) error {
	changed := map[string][]byte{}
	for _, c := range p.Changes {
		changed[c.Name] = c.After
	}
	return filepath.WalkDir(p.dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(p.dir, at)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.Name() == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm()|0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(at)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !info.Mode().IsRegular():
			return nil // a socket or a pipe is nobody's source
		}
		text, ok := changed[filepath.ToSlash(relative)]
		if !ok {
			if text, err = os.ReadFile(at); err != nil {
				return err
			}
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}

// WriteInPlace replaces the files that change, each at once. Git has to know their old text, unless force says
// that it need not.
func (p *Plan) WriteInPlace(ctx context.Context, force bool) error {
	if !force && len(p.Changes) > 0 {
		if err := p.kept(ctx); err != nil {
			return err
		}
	}
	for i, c := range p.Changes {
		at := filepath.Join(p.dir, filepath.FromSlash(c.Name))
		if err := replace(at, c); err != nil {
			return fmt.Errorf("%d of %d files are written, and then: %w", i, len(p.Changes), err)
		}
	}
	return nil
}

// kept returns an error if the old text of a file would be lost.
func (p *Plan) kept(ctx context.Context) error {
	arguments := []string{"-C", p.dir, "status", "--porcelain", "--ignored", "--untracked-files=all", "--"}
	for _, c := range p.Changes {
		arguments = append(arguments, filepath.FromSlash(c.Name))
	}
	out, err := exec.CommandContext(ctx, "git", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("git does not know %s, so the old text would be lost: write elsewhere with -o, or use --force (%s)", p.dir, bytes.TrimSpace(out))
	}
	if len(out) > 0 {
		return fmt.Errorf("these files have changes that are not committed: commit them, write elsewhere with -o, or use --force\n%s", bytes.TrimRight(out, "\n"))
	}
	return nil
}

// replace writes a file under another name and then gives it its own, so that nobody ever finds half of it.
func replace(at string, c Change) (err error) {
	now, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s has changed in the meantime: start over", c.Name)
	}
	info, err := os.Stat(at)
	if err != nil {
		return err
	}
	unfinished, err := os.CreateTemp(filepath.Dir(at), ".port-")
	if err != nil {
		return err
	}
	_, err = unfinished.Write(c.After)
	err = errors.Join(err, unfinished.Chmod(info.Mode().Perm()), unfinished.Close())
	if err == nil {
		err = os.Rename(unfinished.Name(), at)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished.Name()))
	}
	return nil
}
