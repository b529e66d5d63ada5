package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTextsSayWhatTheListExpects holds that a release rewrites each sentence, and that none is forgotten that says
// there's no release.
func TestTheTextsSayWhatTheListExpects(t *testing.T) {
	root := copied(t)
	if err := rewrite(root, "v0.1.0", sentences); err != nil {
		t.Fatal(err)
	}
	for _, name := range texts(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		flat := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
		for _, stale := range []string{"no release", "not released yet", "once it's published", "there are no releases"} {
			if strings.Contains(flat, stale) && !strings.HasPrefix(name, "tools/release/") {
				t.Errorf("%s still says %q after a release", name, stale)
			}
		}
	}
}

// TestAReleaseIsCutUpToThePush holds that one command commits and tags all modules, and that the tree is as before if
// it fails.
func TestAReleaseIsCutUpToThePush(t *testing.T) {
	root := copied(t)
	git(t, root, "init", "--quiet")
	git(t, root, "config", "user.name", "test")
	git(t, root, "config", "user.email", "test@example.com")
	git(t, root, "add", ".")
	git(t, root, "commit", "--quiet", "--message", "before")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cutting := release{root: root, version: "v0.1.0", date: "2026-12-01", say: null, without: true, sentences: sentences}

	for _, version := range []string{"0.1.0", "v1"} {
		wrong := cutting
		wrong.version = version
		if err := wrong.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no version") {
			t.Errorf("%s: %v", version, err)
		}
	}
	write(t, filepath.Join(root, "new.md"), "new")
	if err := cutting.run(t.Context()); err == nil || !strings.Contains(err.Error(), "new.md") {
		t.Errorf("a tree that isn't committed: %v", err)
	}
	os.Remove(filepath.Join(root, "new.md"))

	wrong := cutting
	wrong.sentences = []byte(`[{"file": "SECURITY.md", "before": "nobody has written this"}]`)
	if err := wrong.run(t.Context()); err == nil || !strings.Contains(err.Error(), "SECURITY.md has this 0 times") {
		t.Errorf("a sentence that isn't there: %v", err)
	}
	git(t, root, "config", "tag.gpgSign", "true")
	git(t, root, "config", "gpg.program", "false")
	if err := cutting.run(t.Context()); err == nil {
		t.Error("a tag that can't be signed is no error")
	}
	git(t, root, "config", "--unset", "tag.gpgSign")
	if left := git(t, root, "status", "--porcelain") + git(t, root, "tag") + git(t, root, "log", "--format=%s"); left != "before" {
		t.Errorf("a release that failed leaves %q", left)
	}

	notes, err := release{root: copied(t), version: "v0.1.0", sentences: sentences}.write(t.Context())
	if err != nil || strings.Contains(notes, "no release") || !strings.Contains(notes, "](https://"+mainModule+"/blob/v0.1.0/docs/new.md)") {
		t.Errorf("the notes aren't about a release, or link into a tree: %v\n%.300s", err, notes)
	}
	if err := cutting.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"v0.1.0", "dropin/v0.1.0", "cluster/controlplane/v0.1.0"} {
		if git(t, root, "rev-list", "--max-count=1", tag) != git(t, root, "rev-parse", "HEAD") {
			t.Errorf("%s isn't the release", tag)
		}
	}
	if mod := git(t, root, "show", "HEAD:dropin/go.mod"); !strings.Contains(mod, mainModule+" v0.1.0") {
		t.Errorf("the drop-in requires another version:\n%s", mod)
	}
	if log := git(t, root, "show", "HEAD:CHANGELOG.md"); !strings.Contains(log, "## Unreleased\n\n## v0.1.0 - 2026-12-01\n") {
		t.Errorf("the changelog has no heading for the release:\n%s", log)
	}
	if list := git(t, root, "show", "HEAD:"+sentencesFile); list != "[]" {
		t.Errorf("the next release would rewrite these again:\n%s", list)
	}
	if err := cutting.run(t.Context()); err == nil || !strings.Contains(err.Error(), "tag v0.1.0 already") {
		t.Errorf("the same release again: %v", err)
	}
}

func TestOnlyLinksIntoTheTreeBecomeAbsolute(t *testing.T) {
	const notes = "[a](b/c.md#d) [e](https://f.g/h) [i](#j) [k](l)"
	want := "[a](https://" + mainModule + "/blob/v1.0.0/b/c.md#d) [e](https://f.g/h) [i](#j) [k](https://" + mainModule + "/blob/v1.0.0/l)"
	if got := absolute(notes, "v1.0.0"); got != want {
		t.Errorf("%s", got)
	}
}

func TestTheNotesAreWhatIsNotReleased(t *testing.T) {
	changed, notes, err := cut("# Log\n\n## Unreleased\n\n- new\n\n## v0.1.0 - 2026-01-01\n\n- old\n", "v0.2.0", "2026-02-02")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Log\n\n## Unreleased\n\n## v0.2.0 - 2026-02-02\n\n- new\n\n## v0.1.0 - 2026-01-01\n\n- old\n"; changed != want {
		t.Errorf("%q", changed)
	}
	if notes != "- new\n" {
		t.Errorf("%q", notes)
	}
	for _, log := range []string{"# Log\n", "## Unreleased\n\n## v0.1.0\n\n- old\n"} {
		if _, _, err := cut(log, "v0.2.0", ""); err == nil {
			t.Errorf("%q has nothing to release", log)
		}
	}
}

// copied is a copy of what a release changes, and of the texts.
func copied(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, name := range append(texts(t), "dropin/go.mod", sentencesFile) {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, name), string(text))
	}
	return root
}

// texts are the names of all texts, from the root.
func texts(t *testing.T) []string {
	t.Helper()
	return strings.Fields(git(t, filepath.Join("..", ".."), "ls-files", "*.md"))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}
