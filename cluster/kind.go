package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kind "sigs.k8s.io/kind/pkg/cluster"
)

// kindPatience is how long kind may wait for the control plane's node.
const kindPatience = 3 * time.Minute

func upKind(ctx context.Context, options Options) (*Cluster, error) {
	engine, err := findEngine(ctx)
	if err != nil {
		return nil, err
	}
	unlock, err := lockKind(ctx, options, "bringing the kind cluster up")
	if err != nil {
		return nil, err
	}
	defer unlock()
	provider := engine.newKind(options)
	names, err := provider.List()
	if err != nil {
		return nil, fmt.Errorf("listing kind clusters: %w", err)
	}
	reused := slices.Contains(names, options.KindName)
	kubeconfig := kindKubeconfig(options)
	if reused {
		err = provider.ExportKubeConfig(options.KindName, kubeconfig, false)
	} else {
		err = createKind(ctx, engine, options, kubeconfig) // removes what it made if it fails
	}
	if err != nil {
		return nil, fmt.Errorf("bringing up the kind cluster %q: %w", options.KindName, err)
	}
	cluster, err := connectKind(ctx, options, kubeconfig)
	if err != nil && !reused {
		err = errors.Join(err, provider.Delete(options.KindName, kubeconfig))
	}
	return cluster, err
}

// lockKind keeps two processes from making or removing kind clusters of one
// directory at once.
func lockKind(ctx context.Context, options Options, purpose string) (unlock func(), err error) {
	err = existingDir(options.Dir)
	if err == nil {
		err = privateDir(filepath.Dir(kindKubeconfig(options)))
	}
	if err != nil {
		return nil, withAdvice(err)
	}
	return lockFile(ctx, filepath.Join(options.Dir, "kind.lock"), purpose, options.Out)
}

func kindKubeconfig(options Options) string {
	return filepath.Join(options.Dir, "kind", options.KindName+".kubeconfig")
}

func createKind(ctx context.Context, engine engine, options Options, kubeconfig string) error {
	if err := context.Cause(ctx); err != nil { // the library takes no context
		return err
	}
	config, err := kindConfig(options.Originals, engine.hasCgroupV1(ctx))
	if err != nil {
		return err
	}
	return engine.newKind(options).Create(options.KindName,
		kind.CreateWithRawConfig(config),
		kind.CreateWithNodeImage(options.KindImage),
		kind.CreateWithKubeconfigPath(kubeconfig),
		kind.CreateWithWaitForReady(kindPatience),
		kind.CreateWithDisplayUsage(false),
		kind.CreateWithDisplaySalutation(false))
}

// connectKind checks that the API server answers and that the cluster runs the wanted controllers,
// and leaves the others to us. It may have been created without our patch, or for a chapter that
// needs a different one.
func connectKind(ctx context.Context, options Options, kubeconfig string) (*Cluster, error) {
	config, err := restConfigFromFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kind cluster's kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(withTimeout(config))
	if err != nil {
		return nil, fmt.Errorf("making a client for the kind cluster %q: %w", options.KindName, err)
	}
	if err := checkServing(ctx, client); err != nil {
		return nil, fmt.Errorf("the kind cluster %q: %w", options.KindName, err)
	}
	active, err := activeControllers(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := options.checkActive(active); err != nil {
		return nil, err
	}
	return &Cluster{Mode: Kind, Name: "kind cluster " + options.KindName, Kubeconfig: kubeconfig, config: config, kindName: options.KindName}, nil
}

// checkActive compares the controllers that a kind cluster runs with the wanted ones. kind can only
// choose them when it makes a cluster.
func (o Options) checkActive(active []string) error {
	unwanted := slices.DeleteFunc(slices.Clone(active), o.wants)
	if len(unwanted) == 0 {
		for _, name := range slices.Concat(SampleControllers, OptionalControllers) {
			if o.wants(name) && !slices.Contains(active, name) {
				return fmt.Errorf("the kind cluster %q lacks %s, which it was made without: choose another cluster with KIND_NAME=..., or remove this one with `kind delete cluster --name %[1]s`, and it's made again",
					o.KindName, name)
			}
		}
		return nil
	}
	allow := slices.Clone(o.Originals)
	for _, name := range unwanted {
		if slices.Contains(SampleControllers, name) {
			allow = append(allow, name)
		} else {
			allow = slices.DeleteFunc(allow, func(original string) bool { return original == off+name })
		}
	}
	return fmt.Errorf("the kind cluster %q runs its own %s: allow it with ORIGINALS=%s, choose another cluster with KIND_NAME=..., or remove this one with `kind delete cluster --name %s`",
		o.KindName, strings.Join(unwanted, ", "), strings.Join(allow, ","), o.KindName)
}

// wants reports whether the cluster should run its own controller of that name.
func (o Options) wants(name string) bool {
	if slices.Contains(SampleControllers, name) {
		return slices.Contains(o.Originals, name)
	}
	return !slices.Contains(o.Originals, off+name)
}

// activeControllers reads the command line of the kube-controller-manager that kubeadm runs as a
// static pod, and returns those of the controllers that this project rebuilds that it runs.
func activeControllers(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=" + string(ControllerManager)})
	if err != nil {
		return nil, fmt.Errorf("looking for kube-controller-manager: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, errors.New("looking for kube-controller-manager: no pod in kube-system has the label component=kube-controller-manager")
	}
	var active []string
	for _, name := range slices.Concat(SampleControllers, OptionalControllers) {
		off := true
		for _, pod := range pods.Items {
			for _, container := range pod.Spec.Containers {
				off = off && slices.ContainsFunc(slices.Concat(container.Command, container.Args), func(flag string) bool {
					value, found := strings.CutPrefix(flag, "--controllers=")
					return found && slices.Contains(strings.Split(value, ","), "-"+name)
				})
			}
		}
		if !off {
			active = append(active, name)
		}
	}
	return active, nil
}

func downKind(ctx context.Context, options Options) error {
	engine, err := findEngine(ctx)
	if err != nil {
		return err
	}
	unlock, err := lockKind(ctx, options, "deleting the kind cluster")
	if err != nil {
		return err
	}
	defer unlock()
	if err := engine.newKind(options).Delete(options.KindName, kindKubeconfig(options)); err != nil {
		return fmt.Errorf("deleting the kind cluster %q: %w", options.KindName, err)
	}
	return nil
}

func inspectKind(ctx context.Context, options Options) (Status, error) {
	status := Status{Mode: Kind, Name: options.KindName}
	engine, err := findEngine(ctx)
	if err != nil {
		return status, err
	}
	names, err := engine.newKind(options).List()
	if err != nil {
		return status, fmt.Errorf("listing kind clusters: %w", err)
	}
	if !slices.Contains(names, options.KindName) {
		return status, nil
	}
	status.Kubeconfig = kindKubeconfig(options)
	config, err := restConfigFromFile(status.Kubeconfig)
	if err != nil {
		status.Problem = fmt.Errorf("reading its kubeconfig: %w: `make cluster-up CLUSTER=kind` writes it again", err)
		return status, nil
	}
	client, err := kubernetes.NewForConfig(withTimeout(config))
	if err != nil {
		return status, fmt.Errorf("making a client for the kind cluster: %w", err)
	}
	if status.Problem = checkServing(ctx, client); status.Problem != nil {
		return status, nil
	}
	status.Running = true
	status.Nodes, status.ReadyNodes, err = readyNodes(ctx, client, metav1.ListOptions{})
	return status, err
}

// restartKind stops the API server's container; the kubelet starts a new one.
func (c *Cluster) restartKind(ctx context.Context) error {
	engine, err := findEngine(ctx)
	if err != nil {
		return err
	}
	nodes, err := engine.newKind(Options{Out: io.Discard}).ListInternalNodes(c.kindName)
	if err != nil {
		return fmt.Errorf("listing the nodes of kind cluster %q: %w", c.kindName, err)
	}
	for _, node := range nodes {
		const stop = "for id in $(crictl ps --quiet --name '^kube-apiserver$'); do crictl stop --timeout 1 $id; done"
		if err := node.CommandContext(ctx, "sh", "-c", stop).Run(); err != nil {
			return fmt.Errorf("stopping the API server on node %s: %w", node, err)
		}
	}
	client, err := kubernetes.NewForConfig(withTimeout(c.config))
	if err != nil {
		return fmt.Errorf("making a client for the kind cluster %q: %w", c.kindName, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooSlow)
	defer cancel()
	return awaitReady(ctx, "the API server", "", nil, place{}, func(ctx context.Context) error { return checkServing(ctx, client) })
}
