package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// The commands in cmd/loopwright/testdata/script test what a user sees; here is what they cannot reach.

func TestAPortedModuleAsksForTheSameGoAsThisOne(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	own, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	assert.Equal(t, own.Go.Version, goVersion)
}

func TestTheNamesAreSortedAsLookUpsNeedThem(t *testing.T) {
	names, err := Known()
	require.NoError(t, err)
	require.NotNil(t, names.find(ControllerRuntime.TheirRoot))
	for _, p := range names.Packages {
		assert.Same(t, p, names.find(p.Theirs))
		assert.True(t, slices.IsSorted(p.Names), p.Theirs)
	}
}

func TestEveryPackageThatMovesIsKnown(t *testing.T) {
	names, err := Known()
	require.NoError(t, err)
	for theirs, ours := range ControllerRuntime.Moved {
		known := names.find(theirs)
		if assert.NotNil(t, known, theirs) {
			assert.Equal(t, ours, known.Ours)
		}
	}
}

// A file that somebody edits while the tree is being ported keeps the edit.
func TestAFileThatChangesInTheMeantimeIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(name, []byte("edited"), 0o600))
	plan := &Plan{dir: dir, Changes: []Change{{Name: "main.go", Before: []byte("read"), After: []byte("ported")}}}
	require.ErrorContains(t, plan.WriteInPlace(t.Context(), true), "main.go has changed in the meantime")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "edited", string(text))
}

// Whoever tries again finds nothing in the way.
func TestAFailureLeavesNoHalfOfATree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	require.NoError(t, os.WriteFile(filepath.Join(from, "main.go"), []byte("package main"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(from, "link")))
	require.NoError(t, (&Plan{dir: from}).WriteTo(to), "a link that leads nowhere is copied as it is")
	require.NoError(t, os.RemoveAll(to))

	missing := &Plan{dir: filepath.Join(from, "missing")}
	require.Error(t, missing.WriteTo(to))
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// git runs a git that nobody has configured.
func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	at := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
}

// repository has one commit, with main.go.
func repository(t *testing.T, dir string) {
	t.Helper()
	write(t, "committed", dir, "main.go")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
}

// An afternoon's work would be lost, without a question.
func TestWhatNoCommitHasIsNotReplaced(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git, which CI has, and a machine with only Go and make has not")
	}
	for name, c := range map[string]struct {
		file    string
		prepare func(t *testing.T, dir string)
		isKept  bool
	}{
		"committed":   {"main.go", func(*testing.T, string) {}, true},
		"changed":     {"main.go", func(t *testing.T, dir string) { write(t, "work", dir, "main.go") }, false},
		"only staged": {"main.go", func(t *testing.T, dir string) { write(t, "work", dir, "main.go"); git(t, dir, "add", ".") }, false},
		"untracked":   {"new.go", func(t *testing.T, dir string) { write(t, "work", dir, "new.go") }, false},
		"ignored":     {"new.go", func(t *testing.T, dir string) { write(t, "*", dir, ".gitignore"); write(t, "work", dir, "new.go") }, false},
		"said to be unchanged": {"main.go", func(t *testing.T, dir string) {
			git(t, dir, "update-index", "--assume-unchanged", "main.go")
			write(t, "work", dir, "main.go")
		}, false},
		"skipped": {"main.go", func(t *testing.T, dir string) {
			git(t, dir, "update-index", "--skip-worktree", "main.go")
			write(t, "work", dir, "main.go")
		}, false},
		"changed in another clone": {"clone/main.go", func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, "clone"))
			write(t, "work", dir, "clone", "main.go")
		}, false},
		"committed in another clone": {"clone/main.go", func(t *testing.T, dir string) { repository(t, filepath.Join(dir, "clone")) }, true},
		"changed in a submodule": {"sub/main.go", func(t *testing.T, dir string) {
			other := t.TempDir()
			repository(t, other)
			git(t, dir, "submodule", "--quiet", "add", other, "sub")
			git(t, dir, "commit", "-q", "-m", "two")
			write(t, "work", dir, "sub", "main.go")
		}, false},
		"committed with other line ends": {"main.go", func(t *testing.T, dir string) {
			write(t, "* text eol=crlf", dir, ".gitattributes")
			write(t, "one\r\ntwo\r\n", dir, "main.go")
			git(t, dir, "add", ".")
			git(t, dir, "commit", "-q", "-m", "two")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			repository(t, dir)
			c.prepare(t, dir)
			before, err := os.ReadFile(filepath.Join(dir, c.file))
			require.NoError(t, err)
			plan := &Plan{dir: dir, Changes: []Change{{Name: c.file, Before: before, After: []byte("ported")}}}
			err = plan.WriteInPlace(t.Context(), false)
			now, readErr := os.ReadFile(filepath.Join(dir, c.file))
			require.NoError(t, readErr)
			if c.isKept {
				require.NoError(t, err)
				require.Equal(t, "ported", string(now))
				return
			}
			require.ErrorContains(t, err, "commit them, write elsewhere with -o, or use --force\n"+c.file)
			require.Equal(t, string(before), string(now))
			require.NoError(t, plan.WriteInPlace(t.Context(), true))
		})
	}
}

// The shell that called the program would stand in a directory that is deleted.
func TestADirectoryThatExistsStaysTheSameOne(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, "package main", from, "main.go")
	before, err := os.Stat(to)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(to, link))
	require.NoError(t, (&Plan{dir: from}).WriteTo(link))
	after, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, after.Mode()&os.ModeSymlink, "the link is one no more")
	after, err = os.Stat(to)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	entries, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only main.go")

	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("nowhere", link))
	require.ErrorContains(t, (&Plan{dir: from}).WriteTo(link), "a link that leads nowhere: remove it, or name another directory")
}

// Whoever tries again would find half a tree in the way.
func TestAMoveThatFailsLeavesNothingBehind(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, "package a", from, "a", "a.go")
	write(t, "package b", from, "b", "b.go")
	write(t, "in the way", to, "b", "other.go")
	require.Error(t, moveAll(from, to))
	require.NoFileExists(t, filepath.Join(to, "a", "a.go"))
	require.FileExists(t, filepath.Join(to, "b", "other.go"))
}

func TestALinkOutOfTheTreeLeadsToTheSamePlace(t *testing.T) {
	around := t.TempDir()
	from, to := filepath.Join(around, "from"), filepath.Join(around, "deep", "down", "to")
	write(t, "outside", around, "outside.txt")
	write(t, "inside", from, "sub", "inside.txt")
	require.NoError(t, os.Symlink("../../outside.txt", filepath.Join(from, "sub", "out")))
	require.NoError(t, os.Symlink("sub/inside.txt", filepath.Join(from, "in")))
	require.NoError(t, (&Plan{dir: from}).WriteTo(to))
	for link, want := range map[string]string{"sub/out": "outside", "in": "inside"} {
		text, err := os.ReadFile(filepath.Join(to, link))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	in, err := os.Readlink(filepath.Join(to, "in"))
	require.NoError(t, err)
	require.Equal(t, "sub/inside.txt", in)
}

func TestALinkToSourcesIsNoted(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, "package main", dir, "main.go")
	write(t, "package main", dir, "testdata", "shared.go")
	write(t, "package main // linked", other, "linked.go")
	write(t, "module example.com/linked", dir, "mods", "newest.mod")
	for _, link := range []struct{ to, name string }{
		{filepath.Join(other, "linked.go"), "linked.go"}, {other, "sub"}, {"main.go", "README"}, {"main.go", "same.go"},
		{"testdata/shared.go", "shared.go"}, {"nowhere", "broken.go"}, {"mods/newest.mod", "go.mod"},
	} {
		require.NoError(t, os.Symlink(link.to, filepath.Join(dir, link.name)))
	}
	tree, err := readTree(dir)
	require.NoError(t, err)
	var noted, read []string
	for _, note := range tree.notes {
		noted = append(noted, note.At.Filename)
	}
	for _, source := range tree.sources {
		read = append(read, source.name)
	}
	require.Equal(t, []string{"broken.go", "go.mod", "linked.go", "shared.go", "sub"}, noted)
	require.Len(t, tree.modules, 1)
	require.Equal(t, []string{"linked.go", "main.go", "shared.go"}, read)
}

// The go command compiles a link as any file. What it leads to is somebody else's, and stays.
func TestALinkOutOfTheTreeBecomesAFileIfItChanges(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, "package main // before", other, "linked.go")
	require.NoError(t, os.Symlink(filepath.Join(other, "linked.go"), filepath.Join(dir, "linked.go")))
	plan := &Plan{dir: dir, Changes: []Change{{Name: "linked.go", Before: []byte("package main // before"), After: []byte("package main // after")}}}

	to := filepath.Join(t.TempDir(), "to")
	require.NoError(t, plan.WriteTo(to))
	require.ErrorContains(t, plan.WriteInPlace(t.Context(), false), "linked.go", "no commit has the link")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "a link")
	require.NoError(t, plan.WriteInPlace(t.Context(), false))
	for name, want := range map[string]string{
		filepath.Join(to, "linked.go"): "package main // after", filepath.Join(dir, "linked.go"): "package main // after",
		filepath.Join(other, "linked.go"): "package main // before",
	} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
}
