// Command program runs our garbage collector as a process, and nothing else: what kube-controller-manager does when it is
// told to run this one. It has as many workers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/garbagecollector"
	"github.com/loopwright/loopwright/manager/controller"
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
	config.UserAgent = "ours"
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return controllers.Run(ctx, config, controllers.Options{
		Controller: controller.Options{MaxConcurrentReconciles: 20},
		Probe:      controllers.ProbeOptions{Skip: true},
	}, garbagecollector.Add)
}
