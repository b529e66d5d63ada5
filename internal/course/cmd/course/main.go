// Command course is the command line of the course tool: chapters,
// exercises, progress, and the check that text and code agree.
//
// The Makefile calls it with a number; it finds the tree, hands the work to
// internal/course, and turns the outcome into an exit code: 0 is success, 1 is
// anything else, and a demo's own exit code is passed on.
//
// Neighbours: below it is internal/course, which does the work; above it is
// the Makefile.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	// Only what the go command runs needs the context: a program that it has built
	// gets its signals itself.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	var code exitCode
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	said := errors.Is(err, errNotSolved) || errors.Is(err, errDrifted) || errors.Is(err, errNotReady)
	if err != nil && !said {
		fmt.Fprintln(os.Stderr, "course: "+strings.TrimRight(err.Error(), "\n"))
	}
	if err != nil {
		os.Exit(1)
	}
}
