package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/course"
)

// onExercises is a command on the exercises that its argument means.
func (t *tree) onExercises(use, short string, run func(ctx context.Context, repo *course.Repo, name string, found []course.Exercise) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			found, err := repo.FindExercises(args[0])
			if err != nil {
				return err
			}
			return run(cmd.Context(), repo, args[0], found)
		}}
}

// withExercise is a command on a single exercise.
func (t *tree) withExercise(use, short string, run func(ctx context.Context, repo *course.Repo, e course.Exercise) error) *cobra.Command {
	return t.onExercises(use, short, func(ctx context.Context, repo *course.Repo, name string, found []course.Exercise) error {
		e, err := course.One(name, found)
		if err != nil {
			return err
		}
		return run(ctx, repo, e)
	})
}

func (t *tree) exercise() *cobra.Command {
	var verbose, watch bool
	cmd := t.onExercises("exercise N", "set up an exercise on first use, and test your solution",
		func(ctx context.Context, repo *course.Repo, _ string, found []course.Exercise) error {
			e, err := repo.Next(ctx, found)
			if err != nil {
				return err
			}
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
	return t.onExercises("hint N", "show the next hint of an exercise",
		func(ctx context.Context, repo *course.Repo, _ string, found []course.Exercise) error {
			e, err := repo.Next(ctx, found)
			if err != nil {
				return err
			}
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
				found, err := repo.FindExercises(args[0])
				if err != nil {
					return err
				}
				return repo.Verify(cmd.Context(), found, os.Stdout)
			}
			exercises, problems, err := repo.AllExercises()
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

func (t *tree) class() *cobra.Command {
	var options course.ClassOptions
	var only string
	cmd := &cobra.Command{
		Use:   "class DIR",
		Short: "judge the solutions of a class: each directory in DIR is a learner's my/, or a checkout with one",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("which directory? Name it, as in `make class DIR=../learners`; it has a directory for each learner")
			}
			repo, err := t.open()
			if err == nil && only != "" {
				options.Only, err = repo.FindExercises(only)
			}
			if err != nil {
				return err
			}
			return repo.Class(cmd.Context(), args[0], options, os.Stdout, os.Stderr)
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "look at one exercise, or at those of one chapter, such as 3")
	cmd.Flags().DurationVar(&options.Timeout, "timeout", 0, "how long the tests of one solution may take (default: as long as for a learner, 30s)")
	return cmd
}

func (t *tree) mini() *cobra.Command {
	var naive, mine bool
	cmd := &cobra.Command{
		Use:   "mini N|controllers",
		Short: "run the program of a chapter of the book about mini, or its controllers",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := t.open()
			if err != nil {
				return err
			}
			code := 0
			if args[0] == "controllers" {
				code, err = repo.PlayControllers(cmd.Context(), mine)
			} else {
				var number int
				if number, err = strconv.Atoi(args[0]); err != nil {
					return fmt.Errorf("%q is no chapter: give its number", args[0])
				}
				code, err = repo.Play(cmd.Context(), number, naive, mine)
			}
			if err == nil && code != 0 {
				err = exitCode(code)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&naive, "naive", false, "the program that breaks")
	cmd.Flags().BoolVar(&mine, "mine", false, "with your files in the place of mini's")
	return cmd
}
