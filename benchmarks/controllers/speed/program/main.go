// Command program runs our three controllers as one process, and nothing else: what kube-controller-manager does when
// it is told to run these three.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/log"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	// The benchmark knows that nobody else reconciles these kinds, and the originals do not ask.
	options := controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}
	return controllers.Run(ctx, config, options, func(mgr manager.Manager, options controllers.Options) error {
		return errors.Join(deployment.Add(mgr, options), replicaset.Add(mgr, options), endpoints.Add(mgr, options))
	})
}
