package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/course"
)

// onExercise is a command on the exercise that its argument means.
func (t *tree) onExercise(use, short string, run func(ctx context.Context, repo *course.Repo, e course.Exercise) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			e, err := repo.FindExercise(args[0])
			if err != nil {
				return err
			}
			return run(cmd.Context(), repo, e)
		}}
}

func (t *tree) exercise() *cobra.Command {
	var verbose, watch bool
	cmd := t.onExercise("exercise N", "set up an exercise on first use, and test your solution",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			if watch {
				return repo.Watch(ctx, e, verbose, os.Stdout)
			}
			solved, err := repo.Try(ctx, e, verbose, os.Stdout)
			if err == nil && !solved {
				err = errNotSolved
			}
			return err
		})
	cmd.Flags().BoolVar(&watch, "watch", false, "test it again whenever you save a file, until Ctrl-C")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show what go test prints, too")
	return cmd
}

func (t *tree) hint() *cobra.Command {
	return t.onExercise("hint N", "show the next hint of an exercise",
		func(_ context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.NextHint(e, os.Stdout)
		})
}

func (t *tree) diff() *cobra.Command {
	var anyway bool
	cmd := t.onExercise("diff N", "compare your solution with the reference, once it is solved",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.Diff(ctx, e, anyway, os.Stdout)
		})
	cmd.Flags().BoolVar(&anyway, "anyway", false, "even if it is not solved")
	return cmd
}

func (t *tree) reset() *cobra.Command {
	return t.onExercise("reset N", "start an exercise again; your file is kept under another name",
		func(_ context.Context, repo *course.Repo, e course.Exercise) error {
			kept, err := repo.Reset(e)
			if err != nil {
				return err
			}
			if kept != "" {
				fmt.Println("your work is kept in", kept)
			}
			fmt.Println(e.Mine(), "is the stub again")
			return nil
		})
}

func (t *tree) solve() *cobra.Command {
	return t.onExercise("solve N", "put the reference in the place of your file, which is kept under another name",
		func(_ context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.Solve(e, os.Stdout)
		})
}

func (t *tree) catchUp() *cobra.Command {
	return t.onExercise("catch-up N", "fill in the reference for what you have not solved before chapter N",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.CatchUp(ctx, e, os.Stdout)
		})
}

func (t *tree) further() *cobra.Command {
	return t.onExercise("further N", "go further than an exercise that you have solved: a task with a test, and no solution to read",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			done, err := repo.GoFurther(ctx, e, os.Stdout)
			if err == nil && !done {
				err = errNotSolved
			}
			return err
		})
}

func (t *tree) bug() *cobra.Command {
	var options course.BugOptions
	cmd := t.onExercise("bug N", "plant a mistake in a copy of the reference, or say whether you have found it",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			missed, err := repo.Bug(ctx, e, options, os.Stdout)
			if err == nil && missed {
				err = errNotSolved
			}
			return err
		})
	cmd.Flags().BoolVar(&options.Hint, "hint", false, "show the next hint")
	cmd.Flags().BoolVar(&options.Again, "again", false, "give this one up, and plant another; your file is kept under another name")
	return cmd
}

func (t *tree) verify() *cobra.Command {
	var byName bool
	cmd := &cobra.Command{
		Use:   "verify [N]",
		Short: "prove that every stub fails, every reference passes, and every wrong solution is caught",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				e, err := repo.FindExercise(args[0])
				if err != nil {
					return err
				}
				return repo.Verify(cmd.Context(), []course.Exercise{e}, byName, os.Stdout)
			}
			exercises, problems, err := repo.Exercises()
			if err != nil {
				return err
			}
			if err := problems.Err(); err != nil {
				return err
			}
			return repo.Verify(cmd.Context(), exercises, byName, os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&byName, "by-name", false, "run each wrong solution with the test that it names, and no other")
	return cmd
}

func (t *tree) progress() *cobra.Command {
	return plain("progress", "show which exercises are done", func(ctx context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		return repo.Progress(ctx, os.Stdout, os.Stderr)
	})
}

func (t *tree) submit() *cobra.Command {
	var name string
	cmd := plain("submit", "write your solutions into one file, for your teacher", func(ctx context.Context) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		return repo.Submit(ctx, name, os.Stdout)
	})
	cmd.Flags().StringVar(&name, "name", "", "what you are called (default: git's user.name, or your user's)")
	return cmd
}

func (t *tree) class() *cobra.Command {
	var options course.ClassOptions
	var only string
	var watch, serve bool
	cmd := &cobra.Command{
		Use:   "class DIR",
		Short: "judge the solutions of a class",
		Long: `class judges what the learners have submitted. A learner is a file in DIR that "course submit" has written,
or a directory in DIR that is a copy of the learner's my/, or a checkout with one.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("which directory? Name it, as in `make class DIR=../learners`; it has a file or a directory for each learner")
			}
			repo, err := t.open()
			if err == nil && only != "" {
				var e course.Exercise
				e, err = repo.FindExercise(only)
				options.Only = []course.Exercise{e}
			}
			if err != nil {
				return err
			}
			if serve {
				return repo.ServeClass(cmd.Context(), args[0], options, os.Stdout, os.Stderr)
			}
			if watch {
				return repo.WatchClass(cmd.Context(), args[0], options, os.Stdout, os.Stderr)
			}
			return repo.Class(cmd.Context(), args[0], options, os.Stdout, os.Stderr)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "judge it again whenever something in DIR has changed, until Ctrl-C")
	cmd.Flags().BoolVar(&serve, "serve", false, "like --watch, and with a page in the network, for the projector and for handing in")
	cmd.Flags().IntVar(&options.Port, "port", 0, "where --serve listens (default: a free port)")
	cmd.Flags().StringVar(&only, "only", "", "look at one exercise, such as 3")
	cmd.Flags().DurationVar(&options.Timeout, "timeout", 0, "how long the tests of one solution may take (default: as long as for a learner, 30s)")
	return cmd
}
