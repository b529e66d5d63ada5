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
	"k8s.io/client-go/tools/clientcmd"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/log"
)

// kindPatience is how long kind may wait for the control plane's node.
const kindPatience = 3 * time.Minute

// detectKindRuntime finds the container engine; a test replaces it.
var detectKindRuntime = kind.DetectNodeProvider

func kindProvider(out io.Writer) (*kind.Provider, error) {
	runtime, err := detectKindRuntime()
	if err != nil {
		return nil, errors.New("CLUSTER=kind needs a running Docker, Podman or nerdctl, and none answered: " +
			"start one (`docker info` must work), or use CLUSTER=embedded, which needs none")
	}
	return kind.NewProvider(runtime, kind.ProviderWithLogger(kindLogger{out})), nil
}

func upKind(ctx context.Context, options Options) (*Cluster, error) {
	provider, err := kindProvider(options.Out)
	if err != nil {
		return nil, err
	}
	at := place{dir: options.Dir}
	for _, dir := range []string{at.dir, filepath.Join(at.dir, "kind")} {
		if err := privateDir(dir); err != nil {
			return nil, fmt.Errorf("%w: choose a directory that you can write to with LOOPWRIGHT_DIR=...", err)
		}
	}
	unlock, err := lockFile(ctx, filepath.Join(at.dir, "kind.lock"), "bringing the kind cluster up", options.Out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	names, err := provider.List()
	if err != nil {
		return nil, fmt.Errorf("listing kind clusters: %w", err)
	}
	reused := slices.Contains(names, options.KindName)
	kubeconfig := kindKubeconfig(options)
	if reused {
		err = provider.ExportKubeConfig(options.KindName, kubeconfig, false)
	} else {
		err = createKind(ctx, provider, options, kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("bringing up the kind cluster %q: %w", options.KindName, err)
	}
	cluster, err := connectKind(ctx, options, kubeconfig)
	if err != nil {
		return nil, err
	}
	return cluster, nil
}

func kindKubeconfig(options Options) string {
	return filepath.Join(options.Dir, "kind", options.KindName+".kubeconfig")
}

func createKind(ctx context.Context, provider *kind.Provider, options Options, kubeconfig string) error {
	if err := context.Cause(ctx); err != nil { // the library takes no context
		return err
	}
	config, err := kindConfig(options.Originals, hostHasCgroupV1(ctx))
	if err != nil {
		return err
	}
	return provider.Create(options.KindName,
		kind.CreateWithRawConfig(config),
		kind.CreateWithNodeImage(options.KindImage),
		kind.CreateWithKubeconfigPath(kubeconfig),
		kind.CreateWithWaitForReady(kindPatience),
		kind.CreateWithDisplayUsage(false),
		kind.CreateWithDisplaySalutation(false))
}

// connectKind checks that the API server answers and that the cluster leaves
// the sample controllers' kinds to us. A cluster of that name which somebody
// made without our patch does not.
func connectKind(ctx context.Context, options Options, kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
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
	active, err := activeSampleControllers(ctx, client)
	if err != nil {
		return nil, err
	}
	for _, name := range active {
		if !slices.Contains(options.Originals, name) {
			return nil, fmt.Errorf("the kind cluster %[1]q runs its own %[2]s: allow it with ORIGINALS=%[2]s, choose another cluster with KIND_NAME=..., or remove this one with `kind delete cluster --name %[1]s`",
				options.KindName, name)
		}
	}
	return &Cluster{Mode: Kind, Name: "kind cluster " + options.KindName, Kubeconfig: kubeconfig, config: config, kindName: options.KindName}, nil
}

// activeSampleControllers reads the command line of the kube-controller-manager
// that kubeadm runs as a static pod.
func activeSampleControllers(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=" + string(ControllerManager)})
	if err != nil {
		return nil, fmt.Errorf("looking for kube-controller-manager: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, errors.New("looking for kube-controller-manager: no pod in kube-system has the label component=kube-controller-manager")
	}
	var active []string
	for _, name := range SampleControllers {
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

func downKind(options Options) error {
	provider, err := kindProvider(options.Out)
	if err != nil {
		return err
	}
	if err := provider.Delete(options.KindName, kindKubeconfig(options)); err != nil {
		return fmt.Errorf("deleting the kind cluster %q: %w", options.KindName, err)
	}
	return nil
}

func inspectKind(ctx context.Context, options Options) (Status, error) {
	status := Status{Mode: Kind, Name: options.KindName}
	provider, err := kindProvider(io.Discard)
	if err != nil {
		return status, err
	}
	names, err := provider.List()
	if err != nil {
		return status, fmt.Errorf("listing kind clusters: %w", err)
	}
	if !slices.Contains(names, options.KindName) {
		return status, nil
	}
	status.Kubeconfig = kindKubeconfig(options)
	config, err := clientcmd.BuildConfigFromFlags("", status.Kubeconfig)
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
	status.Nodes, status.ReadyNodes, err = readyNodes(ctx, client)
	return status, err
}

// kindLogger shows what kind reports to its users and drops its debugging.
type kindLogger struct{ out io.Writer }

func (l kindLogger) Warn(message string) { _, _ = fmt.Fprintln(l.out, message) }
func (l kindLogger) Warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(l.out, format+"\n", args...)
}
func (l kindLogger) Error(message string)              { l.Warn(message) }
func (l kindLogger) Errorf(format string, args ...any) { l.Warnf(format, args...) }
func (l kindLogger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return kindInfo{l}
}

type kindInfo struct{ kindLogger }

func (i kindInfo) Info(message string)              { i.Warn(message) }
func (i kindInfo) Infof(format string, args ...any) { i.Warnf(format, args...) }
func (i kindInfo) Enabled() bool                    { return true }

// restartKind stops the API server's container; the kubelet starts a new one.
func (c *Cluster) restartKind(ctx context.Context) error {
	provider, err := kindProvider(io.Discard)
	if err != nil {
		return err
	}
	nodes, err := provider.ListInternalNodes(c.kindName)
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
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	return awaitReady(ctx, "the API server", nil, place{}, func(ctx context.Context) error { return checkServing(ctx, client) })
}
