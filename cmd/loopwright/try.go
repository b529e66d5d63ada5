package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/internal/dropin"
)

const tryHelp = `Try runs the tests of a program that was written for controller-runtime twice: as it is, and with
Loopwright instead of controller-runtime, for the program and for all libraries that it uses. No
file of the program changes: the two replace lines are in a copy of its go.mod elsewhere.

  loopwright try ../operator
  loopwright try ../operator ./internal/... --env "$KUBEBUILDER_ASSETS"

DIR is the directory of the program's go.mod; without packages, it's ./... . A table shows the results
of each package's tests on both sides, the seconds they took, and their peak memory: that of the test
program, or of the largest program that it started. Then comes each test whose result differs, with
its output on both sides.

The exit status is 0 if no test differs, 1 if one does, and 2 if something couldn't be tried.`

const useHelp = `Use makes a program run on Loopwright, with all libraries that it uses: it writes two replace lines
into the go.mod in DIR, and completes go.mod and go.sum. "loopwright unuse DIR" undoes that: if you've
changed nothing else since, both files are exactly what they were, to the byte.`

func newTryCommand() *cobra.Command {
	var options dropin.TryOptions
	var replace string
	command := &cobra.Command{
		Use: "try DIR [PACKAGES]", Short: "Run a program's tests on controller-runtime and on Loopwright, and compare", Long: tryHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			program, err := openProgram(replace, arguments[0])
			if err != nil {
				return err
			}
			if options.Env != "" {
				if options.Env, err = filepath.Abs(options.Env); err != nil {
					return err
				}
			}
			options.Packages = arguments[1:]
			progress := command.ErrOrStderr()
			if work := workspace(program.Dir); work != "" {
				_, _ = fmt.Fprintf(progress, "%s is not used: each module is tried on its own, as with GOWORK=off\n", work)
			}
			result, err := program.Try(command.Context(), options, progress)
			if result != nil && len(result.Packages) > 0 {
				result.Print(command.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if n := len(result.Differences()); n > 0 {
				return leftToDo(count(n, "difference"))
			}
			if untried := result.Untried(); len(untried) > 0 {
				return fmt.Errorf("these packages don't compile with the original either: %s", strings.Join(untried, ", "))
			}
			return nil
		},
	}
	f := command.Flags()
	replaceFlag(command, &replace)
	f.StringVar(&options.Env, "env", "", "KUBEBUILDER_ASSETS for the original: the `directory` with its kube-apiserver and etcd")
	f.StringVar(&options.Run, "run", "", "run only the tests that this `pattern` matches, as with go test")
	f.StringVar(&options.Tags, "tags", "", "build `tags`, with commas between them")
	f.DurationVar(&options.Timeout, "timeout", 10*time.Minute, "how long a package's tests may take on each side")
	return command
}

func newUseCommand() *cobra.Command {
	var replace string
	command := &cobra.Command{
		Use: "use DIR", Short: "Make a program run on Loopwright, by two lines in its go.mod", Long: useHelp, Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			program, err := openProgram(replace, arguments[0])
			if err != nil {
				return err
			}
			changed, err := program.Use(command.Context(), command.ErrOrStderr())
			if err != nil {
				return err
			}
			out := command.OutOrStdout()
			if !changed {
				_, _ = fmt.Fprintf(out, "%s has the lines already.\n", filepath.Join(program.Dir, "go.mod"))
				return nil
			}
			_, _ = fmt.Fprintf(out, "%s runs on Loopwright now. `loopwright unuse` takes that back.\n", program.Dir)
			if _, err := os.Stat(filepath.Join(program.Dir, "vendor")); err == nil {
				_, _ = fmt.Fprintln(out, "Its vendor directory is the old one: run `go mod vendor`, or build with -mod=mod.")
			}
			if work := workspace(program.Dir); work != "" {
				_, _ = fmt.Fprintf(out, "In %s, the lines hold for all its modules.\n", work)
			}
			return nil
		},
	}
	replaceFlag(command, &replace)
	return command
}

func newUnuseCommand() *cobra.Command {
	var replace string
	command := &cobra.Command{
		Use: "unuse DIR", Short: "Take back what use has written", Long: useHelp, Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			program, err := openProgram(replace, arguments[0])
			if err != nil {
				return err
			}
			restored, err := program.Unuse()
			if err != nil {
				return err
			}
			out := command.OutOrStdout()
			if restored {
				_, _ = fmt.Fprintln(out, "go.mod and go.sum are what they were.")
				return nil
			}
			_, _ = fmt.Fprintln(out, "The two lines are out of go.mod. It has changed otherwise since `loopwright use`, "+
				"so what that has added stays: `go mod tidy` removes what isn't needed.")
			return nil
		},
	}
	replaceFlag(command, &replace)
	return command
}

func replaceFlag(command *cobra.Command, replace *string) {
	command.Flags().StringVar(replace, "replace", "", "a checkout of Loopwright: the `directory` that takes controller-runtime's place; the default is the one in which this command runs")
}

// openProgram opens a program, for the named checkout or the one in which this command runs.
func openProgram(replace, dir string) (*dropin.Program, error) {
	if replace == "" {
		replace = checkout()
	}
	if replace == "" {
		return nil, errors.New("this isn't a checkout of Loopwright: run `go run ./cmd/loopwright` in one, or name one with --replace")
	}
	to, err := dropin.OpenCheckout(replace)
	if err != nil {
		return nil, err
	}
	return dropin.OpenProgram(dir, to)
}

// workspace returns the go.work of a directory, or "".
func workspace(dir string) string {
	env := exec.Command("go", "env", "GOWORK")
	env.Dir = dir
	out, _ := env.Output() // without the go command, the next step fails
	if work := strings.TrimSpace(string(out)); work != "off" {
		return work
	}
	return ""
}
