// Command release cuts a release, up to the push:
//
//	make release VERSION=v0.1.0
//
// It writes the version into the changelog, the texts and the drop-in's go.mod, builds what people download,
// commits, and tags each module. Nothing leaves this machine: it prints the commands that publish what it
// made, and the one that takes it back.
//
// The way of the data: texts.go rewrites the sentences of sentences.json, which are right only before a release;
// changelog.go cuts the notes out of CHANGELOG.md; build.go makes the files in .loopwright/release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// modules are the directories of the modules beside the main one. Each has tags of its own.
var modules = []string{"dropin", "cluster/controlplane", "operator", "benchmarks", "tools", "docs/book"}

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "release cuts a release, up to the push: release VERSION, as in release v0.1.0")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := release{version: flag.Arg(0), date: time.Now().Format(time.DateOnly), say: os.Stdout, sentences: sentences}.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

type release struct {
	root          string
	version, date string
	say           *os.File
	sentences     []byte // of sentences.json
	without       bool   // the files that people download: a test has no time for them
}

func (r release) run(ctx context.Context) (err error) {
	if r.root == "" {
		if r.root, err = filepath.Abs(".."); err != nil {
			return err
		}
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	before, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	notes, err := r.write(ctx)
	if err == nil && !r.without {
		err = r.build(ctx, notes)
	}
	if err == nil {
		err = r.commit(ctx)
	}
	if err != nil {
		return errors.Join(err, r.undo(context.WithoutCancel(ctx), before))
	}
	r.sayNext()
	return nil
}

// undo takes back what a release that failed has done. The tree was clean, and had none of the tags.
func (r release) undo(ctx context.Context, before string) error {
	for _, tag := range r.tags() {
		if found, _ := r.git(ctx, "tag", "--list", tag); found == "" {
			continue
		}
		if _, err := r.git(ctx, "tag", "--delete", tag); err != nil {
			return err
		}
	}
	_, err := r.git(ctx, "reset", "--quiet", "--hard", before)
	return err
}

// check refuses what can't become a release.
func (r release) check(ctx context.Context) error {
	if !semver.IsValid(r.version) || semver.Canonical(r.version) != r.version {
		return fmt.Errorf("%q is no version: it has the form v0.1.0", r.version)
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("commit or remove these first, so that the release is what is in git:\n%s", changed)
	}
	for _, tag := range r.tags() {
		if found, err := r.git(ctx, "tag", "--list", tag); err != nil || found != "" {
			return errors.Join(err, fmt.Errorf("there is a tag %s already: choose the next version", tag))
		}
	}
	return nil
}

// tags are those of all modules: Go finds a nested module's version by its directory.
func (r release) tags() []string {
	tags := []string{r.version}
	for _, dir := range modules {
		tags = append(tags, dir+"/"+r.version)
	}
	return tags
}

// write changes the texts, and returns the notes, which say what's true after the release.
func (r release) write(ctx context.Context) (notes string, err error) {
	if err := rewrite(r.root, r.version, r.sentences); err != nil {
		return "", err
	}
	log := filepath.Join(r.root, "CHANGELOG.md")
	text, err := os.ReadFile(log)
	if err != nil {
		return "", err
	}
	changed, notes, err := cut(string(text), r.version, r.date)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(log, []byte(changed), 0o644); err != nil {
		return "", err
	}
	_, err = r.command(ctx, filepath.Join(r.root, "dropin"), "go", "mod", "edit", "-require="+mainModule+"@"+r.version)
	return absolute(notes, r.version), err
}

const mainModule = "github.com/loopwright/loopwright"

func (r release) commit(ctx context.Context) error {
	if _, err := r.git(ctx, "commit", "--quiet", "--all", "--message", "Release "+r.version); err != nil {
		return err
	}
	for _, tag := range r.tags() {
		if _, err := r.git(ctx, "tag", "--annotate", "--message", "Loopwright "+r.version, tag); err != nil {
			return err
		}
	}
	return nil
}

func (r release) sayNext() {
	fmt.Fprintf(r.say, "\nThe release is committed and tagged, and not published. Look at it (git show, .loopwright/release), and then:\n\n"+
		"  git push --atomic origin HEAD %s\n"+
		"  gh release create %s --notes-file .loopwright/release/notes.md .loopwright/release/*.bin .loopwright/release/*.zip .loopwright/release/*.epub .loopwright/release/SHA256SUMS.txt\n\n"+
		"Or take it back:\n\n  git tag --delete %s && git reset --hard HEAD~1\n",
		strings.Join(r.tags(), " "), r.version, strings.Join(r.tags(), " "))
}

func (r release) git(ctx context.Context, arguments ...string) (string, error) {
	return r.command(ctx, r.root, "git", arguments...)
}

func (r release) command(ctx context.Context, dir, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = dir
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", command, err, said.String())
	}
	return strings.TrimSpace(string(out)), err
}
