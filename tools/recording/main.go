// Command recording films the first exercise: it types commands into a shell on a terminal of its own, in a copy of
// the checkout, and writes what the terminal showed as an animated SVG.
//
//	go run ./recording -o ../docs/first-exercise.svg ..
//
// Everything is a real run. Two things are left out: the time in which a viewer would only wait, and the editor, because it
// would show the answer. Where the film says vi, a solution is put in its place: first a wrong one from the exercise's
// testdata, then the reference.
//
// Neighbours: below it are a pseudo-terminal and a terminal emulator. Above it is `make recording`; README.md shows what it writes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// The exercise of the film, and the mistake that is made in it.
const (
	reference = "informer/listwatch_cursor.go"
	mine      = "my/01-resume/listwatch_cursor.go"
	mistake   = "exercises/01-resume/testdata/wrong/deletion_stays.go"
)

// The size of the terminal: what the tool writes is at most 93 characters wide.
const (
	columns = 94
	rows    = 26
)

func main() {
	out := flag.String("o", "", "where to write the SVG")
	flag.Parse()
	if *out == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: recording -o FILE.svg CHECKOUT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, flag.Arg(0), *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, checkout, out string) error {
	tree, err := os.MkdirTemp("", "recording-")
	if err != nil {
		return fmt.Errorf("making room for a copy of the checkout: %w", err)
	}
	defer os.RemoveAll(tree)
	if err := copyTracked(ctx, checkout, tree); err != nil {
		return err
	}
	bin, err := noEditor(tree)
	if err != nil {
		return err
	}
	f, err := record(ctx, tree, []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL="}, columns, rows, firstExercise(tree))
	if err != nil {
		return err
	}
	svg := f.SVG("The first exercise in a terminal", "make exercise-1 shows the task and says in plain words which behaviour is missing. "+
		"After an edit it says what else goes wrong, and after another one that the exercise is solved.")
	if err := os.WriteFile(out, []byte(svg), 0o644); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	fmt.Printf("%s: %s long, %d frames, %d bytes\n", out, f.end.Round(time.Second/10), len(f.frames), len(svg))
	return nil
}

// firstExercise is what a learner types: the stub fails, so does an attempt with a mistake, and then it is solved.
func firstExercise(tree string) []step {
	save := func(text func() ([]byte, error)) func() error {
		return func() error {
			source, err := text()
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(tree, mine), source, 0o644)
		}
	}
	solution := func() ([]byte, error) { return os.ReadFile(filepath.Join(tree, reference)) }
	attempt := func() ([]byte, error) {
		right, err := solution()
		if err != nil {
			return nil, err
		}
		wrong, err := os.ReadFile(filepath.Join(tree, mistake))
		if err != nil {
			return nil, err
		}
		return withFunctionsOf(right, wrong)
	}
	edit := "vi " + mine
	return []step{
		{command: "make exercise-1", wait: 2200 * time.Millisecond, read: 4500 * time.Millisecond},
		{command: edit, before: save(attempt), read: 400 * time.Millisecond},
		{command: "make exercise-1", read: 4200 * time.Millisecond},
		{command: edit, before: save(solution), read: 400 * time.Millisecond},
		{command: "make exercise-1", read: 4200 * time.Millisecond},
	}
}

// copyTracked copies what git has, as it is in the working tree: the film begins where somebody begins who has just
// cloned the repository, without solutions and without what was built.
func copyTracked(ctx context.Context, from, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("asking git for the files of %s: %w", from, err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) { // removed, and not committed yet
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("copying the checkout: %w", err)
		}
	}
	return nil
}

// noEditor puts a vi first in the path that shows nothing and changes nothing.
func noEditor(tree string) (bin string, err error) {
	bin = filepath.Join(tree, ".loopwright", "no-editor")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("replacing the editor: %w", err)
	}
	if err := os.WriteFile(filepath.Join(bin, "vi"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		return "", fmt.Errorf("replacing the editor: %w", err)
	}
	return bin, nil
}
