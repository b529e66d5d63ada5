package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/course"
)

// These make the exit code 1 where everything was said already.
var (
	errNotSolved = errors.New("not solved")
	errDrifted   = errors.New("drifted")
)

// exitCode is that of a demo, which has said what there is to say.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// tree opens the checkout that --root names, or that the caller is in.
type tree struct{ root string }

func (t *tree) open() (*course.Repo, error) {
	root := t.root
	if root == "" {
		found, err := course.FindRoot(".")
		if err != nil {
			return nil, err
		}
		root = found
	}
	return course.Open(root)
}

func newCommand() *cobra.Command {
	t := &tree{}
	root := &cobra.Command{
		Use:           "course",
		Short:         "chapters, milestones, exercises and progress of the course",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&t.root, "root", "", "the checkout (default: the one that contains the current directory)")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(t.chapters(), t.chapter(), t.demo(), t.milestone(),
		t.exercise(), t.hint(), t.diff(), t.reset(), t.verify(), t.progress(),
		t.class(), t.warm(), t.check(), t.sync(), t.drift(), t.mini())
	return root
}

// numbered is a command that takes the number of a chapter or exercise.
func numbered(use, short string, run func(ctx context.Context, number int) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// "01" and "01-list-watch" are what a reader sees in a path.
			if args[0] == "" {
				return errors.New("which one? Give its number, as in `make chapter-1`; `make chapters` lists them")
			}
			digits, _, _ := strings.Cut(args[0], "-")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 || digits != args[0] && !isSlug(n, args[0]) {
				return fmt.Errorf("%q is not a number such as 1: `make chapters` lists the chapters, `make progress` the exercises", args[0])
			}
			return run(cmd.Context(), n)
		},
	}
}

func (t *tree) noChapterZero() error {
	repo, err := t.open()
	if err != nil {
		return err
	}
	chapters, _, err := repo.Chapters()
	if err != nil {
		return err
	}
	return fmt.Errorf("there is no chapter 0; the chapters are:\n\n%s", course.ChapterTable(repo.Outline, chapters))
}

// isSlug reports whether a name such as "01-list-watch" is that of chapter n.
func isSlug(n int, name string) bool {
	return slices.ContainsFunc(course.Outline, func(p course.Planned) bool {
		return p.Number == n && path.Base(p.Dir()) == name
	})
}

// plain is a command without arguments.
func plain(use, short string, run func(ctx context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
}

func (t *tree) chapters() *cobra.Command {
	return plain("chapters", "list the chapters, written and planned", func(context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		chapters, problems, err := repo.Chapters()
		if err != nil {
			return err
		}
		fmt.Print(course.ChapterTable(repo.Outline, chapters))
		return problems.Err()
	})
}

func (t *tree) chapter() *cobra.Command {
	var mine bool
	cmd := numbered("chapter N", "run a chapter's demo", func(ctx context.Context, n int) error {
		if n == 0 { // the newest to BuildDemo, but not to somebody who types it
			return t.noChapterZero()
		}
		return t.runDemo(ctx, n, mine)
	})
	cmd.Flags().BoolVar(&mine, "mine", false, "on your own solutions in my/")
	return cmd
}

func (t *tree) demo() *cobra.Command {
	var mine bool
	cmd := plain("demo", "run the newest chapter's coda, or its demo if it has none", func(ctx context.Context) error {
		return t.runDemo(ctx, 0, mine)
	})
	cmd.Flags().BoolVar(&mine, "mine", false, "on your own solutions in my/")
	return cmd
}

// runDemo replaces this process by the demo. So the demo has our standard
// streams, environment and process id, gets Ctrl-C exactly once and in time to
// clean up, and its exit code is ours without anybody passing it on. A demo on
// the learner's files is a child, because a crash of it is explained.
func (t *tree) runDemo(ctx context.Context, n int, mine bool) error {
	repo, err := t.open()
	if err != nil {
		return err
	}
	binary, err := repo.BuildDemo(ctx, n, mine, os.Stderr)
	if err != nil {
		return err
	}
	if err := os.Chdir(repo.Root); err != nil {
		return fmt.Errorf("running the demo: %w", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if mine {
		code, err := repo.RunMine(binary, n)
		if err == nil && code != 0 {
			err = exitCode(code)
		}
		return err
	}
	return fmt.Errorf("starting %s: %w", binary, syscall.Exec(binary, []string{binary}, os.Environ()))
}

func (t *tree) milestone() *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use:   "milestone N|all",
		Short: "build, vet and test the tree as it was after a chapter",
		Args:  cobra.ExactArgs(1),
	}
	one := numbered("", "", func(ctx context.Context, n int) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		return repo.Milestone(ctx, n, short, os.Stdout)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] != "all" {
			return one.RunE(cmd, args)
		}
		repo, err := t.open()
		if err != nil {
			return err
		}
		return repo.Milestones(cmd.Context(), short, os.Stdout)
	}
	cmd.Flags().BoolVar(&short, "short", false, "leave out the tests that need a cluster (all does that for all but the newest)")
	return cmd
}

func (t *tree) warm() *cobra.Command {
	return plain("warm", "download and compile all that a day without a network needs", func(ctx context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		return repo.Warm(ctx, os.Stdout)
	})
}

func (t *tree) check() *cobra.Command {
	return plain("check", "fail if front matter, files, imports, exercises, originals, text or links do not agree", func(ctx context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		problems, err := repo.Check(ctx)
		if err != nil {
			return err
		}
		return problems.Err()
	})
}

func (t *tree) sync() *cobra.Command {
	return plain("sync", "bring snippets, recorded output and tables in Markdown up to date", func(context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		changed, err := repo.Sync()
		for _, file := range changed {
			fmt.Println("updated", file)
		}
		return err
	})
}

func (t *tree) drift() *cobra.Command {
	var options course.DriftOptions
	cmd := &cobra.Command{
		Use:   "drift [MODULE[@VERSION]]...",
		Short: "compare the originals with newer versions of their modules, and list the chapters to read again",
		Long: `drift compares each original that a chapter mentions with the newest release of its module, declaration by
declaration, or with the version that is named, as in

  course drift k8s.io/client-go@v0.38.0

It says which chapters to read again. What their texts mention in backticks comes first. The exit code is 1 if
something has drifted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			options.Modules = args
			drifted, err := repo.Drift(cmd.Context(), options, os.Stdout)
			if err == nil && drifted {
				err = errDrifted
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&options.Diff, "diff", false, "show what has changed in each declaration")
	return cmd
}
