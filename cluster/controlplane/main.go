// Command controlplane is a Kubernetes control plane in one file: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl, compiled
// from their own Go modules. The first argument names the part to be; called by
// the name kubectl it is kubectl.
//
//	controlplane PART [FLAGS]
//
// Package cluster, in the main module, builds it, picks every flag and starts
// one process per part, so that a part can be killed and come back alone. The
// sibling command kwok, built from the same module, plays the nodes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/loopwright/loopwright/cluster/controlplane/internal/part"

	_ "time/tzdata" // a CronJob may name a time zone that the machine has no file for

	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// parts run until they are told to stop and return the exit code. Each is built
// only when it is asked for: two of them install signal handlers when they are
// constructed, and a process may do so only once.
var parts = map[string]func() int{
	"etcd":                    runEtcd,
	"compact":                 runCompact,
	"kube-apiserver":          func() int { return serve(apiserver.NewAPIServerCommand) },
	"kube-controller-manager": func() int { return serve(controllermanager.NewControllerManagerCommand) },
	"kube-scheduler":          func() int { return serve(newScheduler) },
	"kubectl":                 runKubectl,
}

func main() {
	// Every part reads its flags from os.Args, so it must look as if it had
	// been called by its own name.
	if filepath.Base(os.Args[0]) != "kubectl" {
		os.Args = os.Args[1:]
	}
	if len(os.Args) == 0 || parts[filepath.Base(os.Args[0])] == nil {
		fmt.Fprintf(os.Stderr, "usage: controlplane PART [FLAGS], where PART is one of: %s\n", strings.Join(partNames(), ", "))
		os.Exit(2)
	}
	os.Args[0] = filepath.Base(os.Args[0])
	os.Exit(parts[os.Args[0]]())
}

func partNames() []string {
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// serve runs a part that is a cobra command.
func serve(command func() *cobra.Command) int {
	part.Begin()
	return cli.Run(command())
}

func newScheduler() *cobra.Command { return scheduler.NewSchedulerCommand() }

func runKubectl() int {
	// kubectl logs while it builds its commands, before cobra reads -v.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
