package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/cluster"
)

func execCommand() *cobra.Command {
	return &cobra.Command{
		Use: "exec COMMAND [ARGUMENTS]", Short: "Bring the cluster up, and run a command with its KUBECONFIG",
		Args: cobra.MinimumNArgs(1), DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error { return execute(command.Context(), args) },
	}
}

// execute becomes the command, so that its signals and its exit code are its own.
func execute(ctx context.Context, args []string) error {
	options, err := cluster.OptionsFromEnv()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("looking for the command: %w", err)
	}
	running, err := cluster.Up(ctx, options)
	if err != nil {
		return err
	}
	environment := os.Environ()
	if running.Kubeconfig != "" {
		environment = slices.DeleteFunc(environment, func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
		environment = append(environment, "KUBECONFIG="+running.Kubeconfig)
	}
	return fmt.Errorf("running %s: %w", path, syscall.Exec(path, args, environment))
}
