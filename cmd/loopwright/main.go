// Command loopwright writes new projects, runs programs that were written for controller-runtime on this
// library, with their import paths or with ours, and shows recordings of flight recorders:
//
//	go run github.com/loopwright/loopwright/cmd/loopwright@latest new ../shop --module example.com/shop --kind Shop
//	go run ./cmd/loopwright try ../operator
//	go run github.com/loopwright/loopwright/cmd/loopwright@latest port -o ../ported .
//	go run github.com/loopwright/loopwright/cmd/loopwright@latest xray FILE
//
// Packages cmd/loopwright/internal/scaffold, internal/dropin, internal/migrate and xray do the work; this is their command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "loopwright:", err)
		if left := leftToDo(""); errors.As(err, &left) {
			os.Exit(1)
		}
		os.Exit(2)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "loopwright", Short: "Tools for programs that use Loopwright",
		SilenceErrors: true, SilenceUsage: true,
	}
	command.AddCommand(newNewCommand(), newTryCommand(), newUseCommand(), newUnuseCommand(), newPortCommand(), newXRayCommand())
	return command
}
