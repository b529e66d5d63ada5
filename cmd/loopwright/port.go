package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/loopwright/loopwright/internal/migrate"
)

const portHelp = `Port replaces the import paths of a program that was written for controller-runtime,
in all Go files at and below DIR (the current directory, if none is named), and the
requirement in each go.mod. Comments and the rest of the text stay as they are.

  sigs.k8s.io/controller-runtime            github.com/loopwright/loopwright
  sigs.k8s.io/controller-runtime/pkg/X      github.com/loopwright/loopwright/manager/X

Imports of client-go stay: its types are the same here.

Then Port compiles the result, with its tests. It lists each place that doesn't compile, with the
compiler's message, and the reason if it's known. It also names files that import Loopwright but
weren't compiled, because of a build tag for example. The exit status is 0 if the result compiles,
1 if something is left to do by hand, and 2 if the port failed or the result couldn't be compiled,
for example without a network. If a file can't be parsed, Port writes nothing.`

type portFlags struct {
	to      string
	print   bool
	force   bool
	verbose bool
	options migrate.Options
}

func newPortCommand() *cobra.Command {
	var flags portFlags
	command := &cobra.Command{
		Use: "port [DIR]", Short: "Move a program from controller-runtime to Loopwright", Long: portHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			flags.options.Dir = "."
			if len(arguments) > 0 {
				flags.options.Dir = arguments[0]
			}
			if flags.print && (flags.to != "" || flags.force) {
				return errors.New("-n writes nothing, so it doesn't go together with -o and --force")
			}
			if flags.to != "" && flags.force {
				return errors.New("--force is for porting in place, so it doesn't go together with -o")
			}
			return run(command.Context(), flags, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	f := command.Flags()
	f.StringVarP(&flags.to, "output", "o", "", "write the ported tree to this new or empty `directory`; without it, port in place")
	f.BoolVarP(&flags.print, "dry-run", "n", false, "print what would change, and write nothing")
	f.BoolVar(&flags.force, "force", false, "port in place even where git does not know the old text")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "also list what differs here and compiles")
	f.StringVar(&flags.options.Version, "version", ownVersion(), "the `version` of Loopwright that go.mod requires")
	f.StringVar(&flags.options.Replace, "replace", "", "a checkout of Loopwright: adds a replace directive for this `directory`")
	return command
}

// ownVersion returns the release of this program, or "" if it was built from a checkout.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || strings.Contains(info.Main.Version, "+dirty") || module.Check(info.Main.Path, info.Main.Version) != nil {
		return ""
	}
	return info.Main.Version
}

func run(ctx context.Context, flags portFlags, out, progress io.Writer) error {
	plan, err := migrate.Make(flags.options)
	if err != nil {
		return err
	}
	result := flags.options.Dir
	switch {
	case flags.print:
		for _, change := range plan.Changes {
			_, _ = out.Write(diff.Diff(change.Name, change.Before, change.Name, change.After))
		}
	case flags.to != "":
		result = flags.to
		err = plan.WriteTo(flags.to)
	default:
		err = plan.WriteInPlace(ctx, flags.force)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(progress, "Compiling the result. The first time, that takes minutes.")
	plan.Check(ctx, result, func(library migrate.Problem) { _, _ = fmt.Fprintln(out, "note:", library) })
	return report(plan, flags, out)
}

// report says what was done, and returns an error unless the result compiles.
func report(plan *migrate.Plan, flags portFlags, out io.Writer) error {
	for _, problem := range plan.Problems {
		if !problem.Compiles {
			_, _ = fmt.Fprintln(out, problem)
		} else if flags.verbose {
			_, _ = fmt.Fprintln(out, "differs:", problem)
		}
	}
	for _, note := range plan.Notes {
		_, _ = fmt.Fprintln(out, "note:", note)
	}
	verb := "changed"
	if flags.print {
		verb = "would change"
	}
	_, _ = fmt.Fprintf(out, "%s %s.\n", count(len(plan.Changes), "file"), verb)
	if len(plan.Changes) > 0 && !flags.print {
		_, _ = fmt.Fprintln(out, "Next: go mod tidy && go vet ./...")
	}
	if plan.Unchecked != nil {
		_, _ = fmt.Fprintln(out, "The result was not compiled:", plan.Unchecked)
	}
	if len(plan.Skipped) > 0 {
		_, _ = fmt.Fprintln(out, "Not compiled, because of a build tag for example:", strings.Join(plan.Skipped, ", "))
	}
	switch open := len(plan.Open()); {
	case plan.Unchecked != nil: // what is listed may not be all
		return errors.New("something may be left to do by hand: the result was not compiled")
	case open > 0:
		return leftToDo(count(open, "thing") + " left to do by hand")
	case len(plan.Skipped) > 0:
		_, _ = fmt.Fprintln(out, "The rest compiles.")
		return nil
	}
	_, _ = fmt.Fprintln(out, "The result compiles.")
	return nil
}

// leftToDo is the error of a port that is done as far as it goes.
type leftToDo string

func (l leftToDo) Error() string { return string(l) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
