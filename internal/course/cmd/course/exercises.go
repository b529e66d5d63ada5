package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/course"
)

// withExercise is a numbered command on one exercise.
func (t *tree) withExercise(use, short string, run func(ctx context.Context, repo *course.Repo, e course.Exercise) error) *cobra.Command {
	return numbered(use, short, func(ctx context.Context, n int) error {
		repo, err := t.open()
		if err != nil {
			return err
		}
		e, err := repo.Exercise(n)
		if err != nil {
			return err
		}
		return run(ctx, repo, e)
	})
}

func (t *tree) exercise() *cobra.Command {
	var verbose bool
	cmd := t.withExercise("exercise N", "set up an exercise on first use, and test your solution",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			solved, err := repo.Try(ctx, e, verbose, os.Stdout)
			if err == nil && !solved {
				err = errNotSolved
			}
			return err
		})
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show what go test prints, too")
	return cmd
}

func (t *tree) hint() *cobra.Command {
	return t.withExercise("hint N", "show the next hint of an exercise",
		func(_ context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.NextHint(e, os.Stdout)
		})
}

func (t *tree) diff() *cobra.Command {
	var anyway bool
	cmd := t.withExercise("diff N", "compare your solution with the reference, once it is solved",
		func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
			return repo.Diff(ctx, e, anyway, os.Stdout)
		})
	cmd.Flags().BoolVar(&anyway, "anyway", false, "even if it is not solved")
	return cmd
}

func (t *tree) reset() *cobra.Command {
	return t.withExercise("reset N", "start an exercise again; your file is kept under another name",
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

func (t *tree) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [N]",
		Short: "prove that every stub fails, every reference passes, and every wrong solution is caught",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				one := t.withExercise("", "", func(ctx context.Context, repo *course.Repo, e course.Exercise) error {
					return repo.Verify(ctx, []course.Exercise{e}, os.Stdout)
				})
				return one.RunE(cmd, args)
			}
			exercises, problems, err := repo.Exercises()
			if err != nil {
				return err
			}
			if err := problems.Err(); err != nil {
				return err
			}
			return repo.Verify(cmd.Context(), exercises, os.Stdout)
		},
	}
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
