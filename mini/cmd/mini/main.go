// Command mini runs mini's controllers on the cluster of $KUBECONFIG, until it is interrupted.
// Kubernetes' own must be switched off there: `make mini` does so.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/mini/cmd/internal/held"
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
	config.WarningHandler = rest.NoWarnings{} // each write of Endpoints would print one
	recorder := trace.New(1 << 14)
	steps := xray.NewSteps(recorder)
	config.Wrap(steps.Wrap)
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return err
	}
	cluster.Trace = recorder
	address, err := xray.Serve(ctx, recorder, steps)
	if err != nil {
		return err
	}
	fmt.Println("X-ray shows in a browser what they do:", address)
	host, _ := os.Hostname() // an empty one does no harm: the process has a number, too
	m := mini.NewManager(cluster)
	m.Elector = &mini.Elector{
		Client: &mini.Client{Cluster: cluster}, Identity: fmt.Sprintf("%s-%d", host, os.Getpid()),
		Lease: mini.Request{Namespace: "default", Name: "mini"},
	}
	sets, err1 := mini.NewReplicaSetController(m)
	deployments, err2 := mini.NewDeploymentController(m)
	endpoints, err3 := mini.NewEndpointsController(m)
	collector, err4 := mini.NewGarbageCollector(m,
		&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}, &corev1.Endpoints{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	for _, c := range append(collector, sets, deployments, endpoints) {
		c.Workers, c.Reconciler = 5, held.Reconciler(steps, c.Reconciler)
		m.AddController(c)
	}
	m.AddController(mini.RunnableFunc(func(context.Context) error {
		fmt.Println("mini's controllers run; Ctrl-C ends them")
		return nil
	}))
	fmt.Println("waiting for the lease default/mini, in case another process has it")
	return m.Run(ctx)
}
