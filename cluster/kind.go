package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/log"
	"sigs.k8s.io/yaml"
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
	return &Cluster{Mode: Kind, Name: "kind cluster " + options.KindName, Kubeconfig: kubeconfig, config: config}, nil
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

// kubeadmControllers is what kubeadm itself passes as --controllers. A patch
// replaces the flag, so it has to say this again; without the two, no second
// node could join.
const kubeadmControllers = "*,bootstrapsigner,tokencleaner"

// kindConfig writes the configuration of a cluster of one node, with the sample
// controllers switched off.
//
// kind applies a patch only to a document of the patch's apiVersion, and says
// nothing where none matches. Node images from Kubernetes v1.36 on get v1beta4,
// where extraArgs is a list, and older ones v1beta3, where it is a map; so
// there is one patch for each.
func kindConfig(originals []string, cgroupV1 bool) ([]byte, error) {
	controllers := controllersFlag(kubeadmControllers, originals)
	patches := []string{
		fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrollerManager:\n  extraArgs:\n  - name: controllers\n    value: %q\n", controllers),
		fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\ncontrollerManager:\n  extraArgs:\n    controllers: %q\n", controllers),
	}
	if cgroupV1 {
		// From v1.35 on the kubelet refuses to start on cgroup v1 unless told.
		patches = append(patches, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n")
	}
	config, err := yaml.Marshal(v1alpha4.Cluster{
		TypeMeta:             v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes:                []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
		KubeadmConfigPatches: patches,
	})
	if err != nil {
		return nil, fmt.Errorf("writing kind's configuration: %w", err)
	}
	return config, nil
}

// hostHasCgroupV1 asks the engine, for its host may be another machine or a
// virtual one. An engine that gives no answer is taken to be of today.
func hostHasCgroupV1(ctx context.Context) bool {
	for _, question := range [][]string{
		{"docker", "info", "--format", "{{.CgroupVersion}}"},
		{"podman", "info", "--format", "{{.Host.CgroupsVersion}}"},
		{"nerdctl", "info", "--format", "{{.CgroupVersion}}"},
	} {
		ctx, cancel := context.WithTimeout(ctx, checkLimit)
		answer, err := exec.CommandContext(ctx, question[0], question[1:]...).Output()
		cancel()
		if err == nil {
			return strings.TrimPrefix(strings.TrimSpace(string(answer)), "v") == "1"
		}
	}
	return false
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

func (l kindLogger) Warn(message string)               { _, _ = fmt.Fprintln(l.out, message) }
func (l kindLogger) Warnf(format string, args ...any)  { _, _ = fmt.Fprintf(l.out, format+"\n", args...) }
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
