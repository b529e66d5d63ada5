package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/course"
)

// These make the exit code 1 where everything was said already.
var (
	errNotSolved = errors.New("not solved")
	errDrifted   = errors.New("drifted")
	errNotReady  = errors.New("not ready")
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
		Short:         "chapters, exercises and progress of the course",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&t.root, "root", "", "the checkout (default: the one that contains the current directory)")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(t.chapters(), t.chapter(), t.bench(), t.demo(), t.controllers(), t.exam(),
		t.exercise(), t.hint(), t.diff(), t.reset(), t.solve(), t.catchUp(), t.bug(), t.further(), t.verify(), t.progress(),
		t.submit(), t.class(), t.doctor(), t.warm(), t.programs(), t.check(), t.sync(), t.drift())
	return root
}

// plain is a command without arguments.
func plain(use, short string, run func(ctx context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
}

func (t *tree) chapters() *cobra.Command {
	return plain("chapters", "list the chapters", func(context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		chapters, problems, err := repo.Chapters()
		if err != nil {
			return err
		}
		fmt.Print(course.ChapterTable(chapters))
		ways, err := repo.Ways(chapters)
		if err != nil {
			return err
		}
		fmt.Println()
		for _, w := range ways {
			fmt.Printf("%s, some %d hours: chapters %s\n", w.Name, w.Hours(), w.Chapters)
		}
		return problems.Err()
	})
}

// plays is a command that runs a program on mini.
func (t *tree) plays(cmd *cobra.Command, play func(ctx context.Context, repo *course.Repo, args []string, mine bool) (exitCode int, err error)) *cobra.Command {
	mine := cmd.Flags().Bool("mine", false, "with your files in my/ in the place of mini's")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		code, err := play(cmd.Context(), repo, args, *mine)
		if err == nil && code != 0 {
			err = exitCode(code)
		}
		return err
	}
	return cmd
}

func (t *tree) chapter() *cobra.Command {
	cmd := &cobra.Command{Use: "chapter N", Short: "run a chapter's program", Args: cobra.ExactArgs(1)}
	naive := cmd.Flags().Bool("naive", false, "the program that breaks")
	bug := cmd.Flags().Bool("bug", false, "with the planted mistake that `course bug N` has you hunt")
	return t.plays(cmd, func(ctx context.Context, repo *course.Repo, args []string, mine bool) (int, error) {
		c, err := repo.FindChapter(args[0])
		if err != nil {
			return 0, err
		}
		if *bug {
			return repo.PlayBug(ctx, c, os.Stderr)
		}
		return repo.Play(ctx, c, *naive, mine, os.Stderr)
	})
}

func (t *tree) bench() *cobra.Command {
	cmd := &cobra.Command{Use: "bench N", Short: "measure what a chapter builds, beside the library's and the originals'", Args: cobra.ExactArgs(1)}
	return t.plays(cmd, func(ctx context.Context, repo *course.Repo, args []string, mine bool) (int, error) {
		c, err := repo.FindChapter(args[0])
		if err != nil {
			return 0, err
		}
		return repo.Bench(ctx, c, mine, os.Stdout)
	})
}

func (t *tree) demo() *cobra.Command {
	cmd := &cobra.Command{Use: "demo", Short: "show the controllers of mini at work", Args: cobra.NoArgs}
	all := cmd.Flags().Bool("all", false, "all of them, on a cluster that runs none of its own")
	return t.plays(cmd, func(ctx context.Context, repo *course.Repo, _ []string, mine bool) (int, error) {
		return repo.PlayDemo(ctx, *all, mine, os.Stderr)
	})
}

func (t *tree) controllers() *cobra.Command {
	cmd := &cobra.Command{Use: "controllers", Short: "run the controllers of mini on the cluster of $KUBECONFIG", Args: cobra.NoArgs}
	return t.plays(cmd, func(ctx context.Context, repo *course.Repo, _ []string, mine bool) (int, error) {
		return repo.PlayControllers(ctx, mine, os.Stderr)
	})
}

func (t *tree) exam() *cobra.Command {
	cmd := &cobra.Command{Use: "exam -- FLAGS", Short: "play bad days with mini's ReplicaSets and Deployments; FLAGS are those of simulate"}
	return t.plays(cmd, func(ctx context.Context, repo *course.Repo, flags []string, mine bool) (int, error) {
		return repo.Exam(ctx, flags, mine, os.Stderr)
	})
}

func (t *tree) doctor() *cobra.Command {
	var noCluster bool
	cmd := plain("doctor", "say whether this machine has what the course needs", func(ctx context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		ready, err := repo.Doctor(ctx, !noCluster, os.Stdout)
		if err == nil && !ready {
			err = errNotReady
		}
		return err
	})
	cmd.Flags().BoolVar(&noCluster, "no-cluster", false, "start no cluster")
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

func (t *tree) programs() *cobra.Command {
	cmd := plain("programs", "test the chapters' programs, most of them in one test binary", nil)
	race := cmd.Flags().Bool("race", false, "with the race detector")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		if *race {
			return repo.TestPrograms(cmd.Context(), os.Stdout, "-race")
		}
		return repo.TestPrograms(cmd.Context(), os.Stdout)
	}
	return cmd
}

func (t *tree) check() *cobra.Command {
	return plain("check", "fail if chapters, exercises, imports, originals, text or links do not agree", func(ctx context.Context) error {
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
