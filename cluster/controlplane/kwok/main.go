// Command kwok plays the nodes of the embedded cluster: it reports fake Nodes
// Ready, gives Pods that are bound to them an IP and a Ready condition unless an
// image cannot be there, lets Jobs' Pods succeed, and ends Pods that are being deleted.
//
// It is a command of its own because kwok's flags and those of the control
// plane's parts collide. It differs from kwok's own command in two things: it
// brings its stages (what it does to nodes and pods, and when) along, where the
// original wants a file, and it follows the lifeline of a test's cluster.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	node "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/loopwright/loopwright/cluster/controlplane/internal/part"
)

func main() {
	part.Begin()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

// stages are kwok's own, but for images that are missing: everything happens as soon as it can.
func stages() ([]string, error) {
	ready, err := podReady()
	return []string{
		node.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease,
		ready, podImageMissing, pod.DefaultPodComplete, pod.DefaultPodDelete,
	}, err
}

func run() error {
	stages, err := stages()
	if err != nil {
		return err
	}
	stagesFile := filepath.Join(os.TempDir(), "stages.yaml")
	if err := os.WriteFile(stagesFile, []byte(strings.Join(stages, "\n---\n")), 0o600); err != nil {
		return fmt.Errorf("writing the stages: %w", err)
	}
	os.Args = append(os.Args, "--config="+stagesFile)

	// kwok reads --config and its logging flags before cobra sees the rest.
	early := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {}

	ctx, _ := log.InitFlags(signals.SetupSignalContext(), early)
	ctx, err = config.InitFlags(ctx, early)
	if err != nil {
		return fmt.Errorf("reading the stages: %w", err)
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(early)
	return command.ExecuteContext(ctx)
}
