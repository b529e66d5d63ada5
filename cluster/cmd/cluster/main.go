// Command cluster brings a cluster up, shows it, and takes it down. `make cluster-up`,
// `cluster-status`, `cluster-down` and `clean` run it. Its options come from the environment: see
// OptionsFromEnv in package cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "cluster", Short: "Bring a Kubernetes cluster up, show it, take it down",
		SilenceErrors: true, SilenceUsage: true,
	}
	command.AddCommand(
		subcommand("build", "Compile the embedded control plane ahead of time", build),
		subcommand("up", "Find or make the cluster and wait until it can be used", up),
		subcommand("down", "Remove the cluster and its data", down),
		subcommand("status", "Show what runs, where, since when, and how to reach it", status),
		execCommand(),
		subcommand("clean", "Remove the cluster and the binaries built for it", clean),
	)
	return command
}

func subcommand(name, short string, run func(context.Context, cluster.Options, io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options, err := cluster.OptionsFromEnv()
			if err != nil {
				return err
			}
			return run(command.Context(), options, command.OutOrStdout())
		},
	}
}

func build(ctx context.Context, options cluster.Options, _ io.Writer) error {
	return cluster.Build(ctx, options.Out)
}

func up(ctx context.Context, options cluster.Options, out io.Writer) error {
	running, err := cluster.Up(ctx, options)
	if err != nil {
		return err
	}
	shown, err := cluster.Inspect(ctx, options)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Ready: %s, %d nodes.\n\n", running.Name, shown.Nodes)
	printReach(shown, out)
	return nil
}

func down(ctx context.Context, options cluster.Options, out io.Writer) error {
	if err := cluster.Down(ctx, options); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "The cluster is gone.")
	return nil
}

func clean(ctx context.Context, options cluster.Options, out io.Writer) error {
	if options.Mode != cluster.Embedded {
		return errors.New("clean removes the embedded cluster and its binaries: call it without CLUSTER")
	}
	if err := cluster.Down(ctx, options); err != nil {
		return err
	}
	if err := cluster.CleanCache(); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "The cluster and its binaries have been removed.")
	return nil
}

func status(ctx context.Context, options cluster.Options, out io.Writer) error {
	shown, err := cluster.Inspect(ctx, options)
	if err != nil {
		return err
	}
	if !shown.Running && shown.Problem == nil {
		_, _ = fmt.Fprintf(out, "No %s cluster is running. `make cluster-up` makes one.\n", shown.Mode)
		return nil
	}
	_, _ = fmt.Fprintf(out, "%s cluster at %s\n", shown.Mode, shown.Name)
	if !shown.Since.IsZero() {
		_, _ = fmt.Fprintf(out, "  since   %s, for %s\n", shown.Since.Local().Format(time.DateTime), time.Since(shown.Since).Round(time.Second))
	}
	_, _ = fmt.Fprintf(out, "  nodes   %d, %d of them ready\n", shown.Nodes, shown.ReadyNodes)
	bare := slices.Equal(shown.Originals, []string{cluster.Bare})
	if bare {
		_, _ = fmt.Fprintln(out, "  a bare cluster: kube-controller-manager runs only what a cluster needs to live")
	} else if len(shown.Originals) > 0 {
		_, _ = fmt.Fprintf(out, "  originals left on in kube-controller-manager: %s\n", strings.Join(shown.Originals, ", "))
	}
	if len(shown.Off) > 0 {
		_, _ = fmt.Fprintf(out, "  originals switched off besides: %s\n", strings.Join(shown.Off, ", "))
	}
	printParts(shown.Parts, out)
	if shown.Mode == cluster.Embedded && !bare {
		_, _ = fmt.Fprintln(out, "\n  kwok plays the nodes: Pods run in name only.")
		off := slices.DeleteFunc(slices.Clone(cluster.SampleControllers), func(name string) bool { return slices.Contains(shown.Originals, name) })
		if len(off) > 0 {
			_, _ = fmt.Fprintf(out, "  Switched off, because the course rebuilds them: %s.\n", strings.Join(off, ", "))
		}
	}
	if shown.Problem != nil {
		_, _ = fmt.Fprintf(out, "\nIt is not whole: %v\n", shown.Problem)
	}
	_, _ = fmt.Fprintln(out)
	printReach(shown, out)
	return nil
}

func printParts(parts []cluster.PartStatus, out io.Writer) {
	if len(parts) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  part\tprocess\tmemory\tlog")
	var total int64
	for _, part := range parts {
		if part.Running {
			_, _ = fmt.Fprintf(table, "  %s\t%d\t%s\t%s\n", part.Part, part.PID, megabytes(part.Memory), part.Log)
		} else {
			_, _ = fmt.Fprintf(table, "  %s\tnone\t-\t%s\n", part.Part, part.Log)
		}
		total += part.Memory
	}
	_, _ = fmt.Fprintf(table, "  all\t\t%s\t\n", megabytes(total))
	_ = table.Flush()
}

func megabytes(bytes int64) string {
	if bytes == 0 {
		return "?"
	}
	return fmt.Sprintf("%d MB", bytes/1e6)
}

func printReach(shown cluster.Status, out io.Writer) {
	if shown.Mode == cluster.Current || shown.Kubeconfig == "" {
		return
	}
	_, _ = fmt.Fprintf(out, "Point kubectl at it:\n  export KUBECONFIG=%s\n", cluster.ShellWord(shown.Kubeconfig))
	if shown.Kubectl != "" {
		_, _ = fmt.Fprintf(out, "If you have no kubectl, use the one that was built along:\n  alias kubectl=%s\n", cluster.ShellWord(cluster.ShellWord(shown.Kubectl))) // the shell reads an alias twice
	}
}
