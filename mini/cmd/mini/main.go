// Command mini runs mini's controllers on the cluster of $KUBECONFIG, until it is interrupted: those
// whose originals $ORIGINALS has switched off there. `make mini` and `make mini ALL=1` do so.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/mini/cmd/internal/all"
	"github.com/loopwright/loopwright/mini/cmd/internal/held"
	"github.com/loopwright/loopwright/mini/cmd/internal/stalled"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mini:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("reading the file that KUBECONFIG names: %w", err)
	}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	config.WarningHandler = rest.NoWarnings{} // each write of Endpoints would print one
	recorder := trace.New(1 << 14)
	steps := xray.NewSteps(recorder)
	config.Wrap(steps.Wrap)
	connection, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return err
	}
	connection.Trace = recorder
	address, err := xray.Serve(ctx, recorder, steps)
	if err != nil {
		return err
	}
	fmt.Println("X-ray shows in a browser what they do:", address)
	host, _ := os.Hostname() // an empty one does no harm: the process has a number, too
	m := mini.NewManager(connection)
	m.Elector = &mini.Elector{
		Client: &mini.Client{Cluster: connection}, Identity: fmt.Sprintf("%s-%d", host, os.Getpid()),
		Lease: mini.Request{Namespace: "default", Name: "mini"},
	}
	options, err := cluster.OptionsFromEnv()
	if err != nil {
		return err
	}
	parts, names, err := all.Controllers(m, options.Originals)
	if err != nil {
		return err
	}
	for _, c := range parts {
		c.Workers, c.Reconciler = 5, held.Reconciler(steps, c.Reconciler)
	}
	if err := stalled.Record(m, recorder, all.WithConditions(names)...); err != nil {
		return err
	}
	m.AddController(mini.RunnableFunc(func(ctx context.Context) error {
		// It leads now, so another process of this program, which would answer, waits.
		if err := alone.Check(ctx, config, controllers.ProbeOptions{}, all.Originals(names)...); err != nil {
			return err
		}
		fmt.Printf("mini's controllers run: %s; Ctrl-C ends them\n", strings.Join(names, ", "))
		running, ctx := errgroup.WithContext(ctx)
		for _, c := range parts {
			running.Go(func() error { return c.Run(ctx) })
		}
		return running.Wait()
	}))
	fmt.Println("waiting for the lease default/mini, in case another process has it")
	return m.Run(ctx)
}
