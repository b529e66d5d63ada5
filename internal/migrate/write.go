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
// the directory is as it was. A directory that exists stays the same one, because it may be somebody's working directory, and
// a link to one stays a link.
func (p *Plan) WriteTo(dir string) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	} else if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s is a link that leads nowhere: remove it, or name another directory", dir)
	}
	inside, err := within(p.dir, dir)
	if err != nil {
		return err
	}
	if inside {
		return fmt.Errorf("%s is within the tree that is to be ported: name a directory elsewhere", dir)
	}
	entries, err := os.ReadDir(dir)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and what is there is not to be mixed with this: remove it, or name another directory", dir)
	}
	beside := dir // a directory that exists may be another file system than the one around it
	if !exists {
		beside = filepath.Dir(dir)
	}
	if err := os.MkdirAll(beside, 0o777); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(beside, ".port-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(unfinished)) }()
	tree := filepath.Join(unfinished, "tree")
	if err := p.copyTo(tree); err != nil {
		return err
	}
	if !exists {
		return os.Rename(tree, dir)
	}
	return moveAll(tree, dir)
}

// moveAll moves what is in one directory to another one. If it fails, the other one has nothing of it.
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := os.Rename(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(to, moved.Name())))
			}
			return err
		}
	}
	return nil
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
		text, changes := changed[filepath.ToSlash(relative)]
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
		case info.Mode()&fs.ModeSymlink != 0 && changes:
			return os.WriteFile(target, text, 0o666)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := p.readLink(at)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !info.Mode().IsRegular():
			return nil // a socket or a pipe is nobody's source
		}
		if !changes {
			if text, err = os.ReadFile(at); err != nil {
				return err
			}
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}

// readLink returns what a link of the tree is to say elsewhere. A relative one that leads out of the tree would lead to
// something else from there.
func (p *Plan) readLink(at string) (string, error) {
	link, err := os.Readlink(at)
	if err != nil || filepath.IsAbs(link) {
		return link, err
	}
	leadsTo, err := filepath.Abs(filepath.Join(filepath.Dir(at), link))
	if err != nil {
		return "", err
	}
	if inside, err := within(p.dir, leadsTo); inside || err != nil {
		return link, err
	}
	return leadsTo, nil
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

// kept returns an error if the old text of a file would be lost: unless the last commit has it, to the letter. The
// repository that counts is the innermost one, which may be a submodule or another clone, and what `git status` says does
// not: it takes a file's word for it that it is unchanged (git update-index --assume-unchanged).
func (p *Plan) kept(ctx context.Context) error {
	var lost []string
	for _, c := range p.Changes {
		at := filepath.Join(p.dir, filepath.FromSlash(c.Name))
		show := exec.CommandContext(ctx, "git", "-C", filepath.Dir(at), "cat-file", "--filters", "HEAD:./"+filepath.Base(at))
		committed, err := show.Output()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("git is not there to say whether old text would be lost: write elsewhere with -o, or use --force (%w)", err)
		}
		before := c.Before
		if link, err := os.Readlink(at); err == nil {
			before = []byte(link) // only the link is replaced
		}
		if err != nil || !bytes.Equal(committed, before) {
			lost = append(lost, c.Name)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("git's last commit does not have the text of these files, so it would be lost: commit them, write elsewhere with -o, or use --force\n%s",
			strings.Join(lost, "\n"))
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
