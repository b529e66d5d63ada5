package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cmd/loopwright/internal/scaffold"
)

const newHelp = `New writes a project into DIR, which must not exist yet: an API type, its controller
with conditions, events and a finalizer, tests on a real API server, manifests, a Makefile, and a
workflow for CI. "make run" and "make test" work in it at once; its README has the rest.

  loopwright new ../shop --module example.com/shop --kind Shop

In the folder of the project, "loopwright new kind Order" adds a second kind. What you changed
by hand stays as it is.

If the command runs in a checkout of Loopwright, go.mod gets a replace directive for that checkout.`

func newNewCommand() *cobra.Command {
	var options scaffold.Options
	command := &cobra.Command{
		Use: "new DIR", Short: "Write a new project, or one more kind of a project", Long: newHelp,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 || arguments[0] == "" {
				return errors.New("name one folder for the project: loopwright new DIR --module PATH --kind KIND")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			options.Dir = arguments[0]
			if options.Module == "" || options.Kind == "" {
				return errors.New("--module and --kind are needed, such as --module example.com/shop --kind Shop")
			}
			if options.Version == "" && options.Replace == "" {
				options.Replace = checkout()
			}
			out := command.OutOrStdout()
			if err := scaffold.New(options, out); err != nil {
				return err
			}
			if err := scaffold.Complete(command.Context(), options.Dir, out); err != nil {
				return err
			}
			whatNext(options, out)
			return nil
		},
	}
	f := command.Flags()
	f.StringVar(&options.Module, "module", "", "the module `path`, such as example.com/shop")
	f.StringVar(&options.Kind, "kind", "", "the `name` of the first kind, such as Shop")
	f.StringVar(&options.Group, "group", "", "the API `group`; the default is made of the module path, such as shop.example.com")
	f.BoolVar(&options.Webhooks, "webhooks", false, "add webhooks that set defaults and refuse what is wrong")
	f.BoolVar(&options.ControllerRuntime, "controller-runtime", false, "write the import paths of controller-runtime")
	f.StringVar(&options.Version, "version", ownVersion(), "the `version` of Loopwright that go.mod requires")
	f.StringVar(&options.Replace, "replace", "", "a checkout of Loopwright: adds a replace directive for this `directory`")
	command.AddCommand(&cobra.Command{
		Use: "kind KIND", Short: "Add a kind to the project in this folder", Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			out := command.OutOrStdout()
			if err := scaffold.AddKind(".", arguments[0], out); err != nil {
				return err
			}
			return scaffold.Complete(command.Context(), ".", out)
		},
	})
	return command
}

// checkout returns the checkout in which this program runs, or "" outside of one.
func checkout() string {
	dir, err := os.Getwd()
	for err == nil {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/loopwright/loopwright\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

func whatNext(options scaffold.Options, out io.Writer) {
	if options.Replace != "" {
		_, _ = fmt.Fprintf(out, "\ngo.mod points to your checkout of Loopwright, %s.\n"+
			"Where no checkout is in that place, the project does not build. "+
			"The README says how to change it.\n", options.Replace)
	}
	_, _ = fmt.Fprintf(out, "\nNext:\n  cd %s\n  make test    # the first time, this compiles an API server: 3 to 5 minutes\n"+
		"  make run     # runs the controllers on a cluster of this machine\n", cluster.ShellWord(options.Dir))
}
