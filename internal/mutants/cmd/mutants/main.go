// Command mutants makes small mistakes in mini and shows which of them no test
// notices. With no argument it takes every file of mini.
//
// The Makefile calls it; internal/mutants, below, does the work. The exit code is 0 if
// all files reach the target.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	"github.com/loopwright/loopwright/internal/course"
	"github.com/loopwright/loopwright/internal/mutants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := mutants.Options{Live: term.IsTerminal(int(os.Stdout.Fd()))}
	flag.IntVar(&o.Jobs, "jobs", 2, "test binaries that run at the same time")
	flag.IntVar(&o.Check, "check", 0, "make so many mutants of each file as plain source, too, and compare the verdicts")
	flag.Uint64Var(&o.Seed, "seed", rand.Uint64(), "picks the mutants for -check")
	flag.BoolVar(&o.Verbose, "v", false, "show every mutant with its verdict")
	flag.Parse()

	root, err := course.FindRoot(".")
	if err != nil {
		return err
	}
	o.Root = root
	for _, f := range flag.Args() {
		o.Files = append(o.Files, path.Clean(filepath.ToSlash(f)))
	}
	if len(o.Files) == 0 {
		o.Files = course.Mini()
	}
	if o.Check > 0 {
		fmt.Printf("seed %d\n", o.Seed)
	}
	return mutants.Run(ctx, o, os.Stdout)
}
