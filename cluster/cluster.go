// Package cluster gets a Kubernetes cluster for a demo, a test or your own experiments, and returns
// the configuration to reach it.
//
// Up(Options) finds or makes a cluster and returns a [Cluster]: a *rest.Config for Go and a
// kubeconfig for kubectl. There are three modes. Embedded, the default, compiles a real etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler from their Go modules and runs them on
// loopback, with kwok instead of kubelets; it needs only Go. Kind makes or reuses a kind cluster.
// Current uses the kubeconfig that kubectl would use.
//
// In all of them the originals of the controllers that Loopwright rebuilds (Deployment, ReplicaSet,
// Endpoints) have to be off: the first two modes switch them off.
//
// Neighbours: below it is the nested module controlplane, which it builds and starts but never
// imports. Above it are the demos in chapters/ and, through clustertest, the integration tests.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Mode says where a cluster comes from.
type Mode string

const (
	// Embedded is a control plane made of local processes.
	Embedded Mode = "embedded"
	// Kind is a cluster of containers made with sigs.k8s.io/kind.
	Kind Mode = "kind"
	// Current is the cluster that kubectl talks to.
	Current Mode = "current"
)

// SampleControllers names the controllers that this project rebuilds, by the names that
// kube-controller-manager's --controllers flag knows. Embedded and kind clusters run without the
// originals, so that no other controller reconciles those kinds.
var SampleControllers = []string{"deployment-controller", "replicaset-controller", "endpoints-controller"}

// OptionalControllers names controllers that this project rebuilds, but that clusters run by
// default, because programs on a cluster need their work. Options.Originals switches them off.
var OptionalControllers = []string{
	"endpointslice-controller", "garbage-collector-controller", "namespace-controller", "job-controller", "cronjob-controller",
	"daemonset-controller", "statefulset-controller", "node-lifecycle-controller", "taint-eviction-controller",
}

// off precedes the name of an optional controller to switch off, as in kube-controller-manager's
// flag.
const off = "-"

// Bare, as the only one of Options.Originals, leaves on only the controllers that a cluster can't
// live without. README.md says why each is needed.
const Bare = "bare"

var bareControllers = []string{
	"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller", "pod-garbage-collector-controller", "persistentvolume-binder-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller",
}

// Options say which cluster you want. The zero value is an embedded cluster with three nodes, kept
// in the checkout's .loopwright directory.
type Options struct {
	Mode Mode

	// Dir holds an embedded cluster's state: data, keys, logs, kubeconfig; for kind it holds the
	// kubeconfig. The default is .loopwright at the root of the checkout. For an ephemeral cluster
	// it's a temporary directory, which Cluster.Down removes, or the end of this process, or else
	// the next such cluster.
	Dir string
	// Nodes is how many nodes an embedded cluster should have; 0 means those that it has, and 3 in
	// a new one.
	Nodes int
	// Port is where an embedded API server listens on 127.0.0.1; 0 means any free port.
	Port int
	// Originals names those of SampleControllers that stay switched on and, with a minus in front,
	// those of OptionalControllers that don't. Or it's Bare.
	Originals []string
	// Ephemeral ties the embedded cluster that Up starts to this process: it ends when the process
	// ends, however that happens, and its data are removed. If Up finds a running cluster, it stays
	// tied to the process that started it.
	Ephemeral bool
	// RemoveDir is a directory to remove instead, with everything in it, when an ephemeral cluster
	// ends because its process did. It may be Dir or one above, and needs a Dir.
	RemoveDir string
	// Parts are the parts of an embedded cluster; nil means all of them. It can't do without etcd
	// and the API server. Without the controller manager, namespaces get no ServiceAccount, so the
	// API server then accepts Pods without one. Without kwok there are no nodes.
	Parts []Part
	// Arguments changes the command line of a part before it starts, unless it's nil.
	Arguments func(part Part, defaults []string) ([]string, error)
	// Output, unless it's nil, returns writers that get a part's output, besides its log; a nil
	// writer gets nothing. Don't use it for a part that should outlive this process.
	Output func(part Part) (stdout, stderr io.Writer)

	// KindName is the name of the kind cluster; the default is "loopwright".
	KindName string
	// KindImage is the node image; the default is the kind library's own.
	KindImage string

	// Yes agrees beforehand to using the current kubeconfig's cluster. Without
	// it, Up asks on Out and reads the answer from In.
	Yes bool
	In  io.Reader
	// Out gets the progress of work that takes long. nil discards it.
	Out io.Writer
}

const (
	defaultNodes    = 3
	maxNodes        = 1000
	defaultKindName = "loopwright"
)

// kindNames are the names that kind allows; ours become file names too.
var kindNames = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// OptionsFromEnv reads the options from the environment, as make passes them:
// CLUSTER, NODES, PORT, ORIGINALS, KIND_NAME, KIND_IMAGE, YES, LOOPWRIGHT_DIR.
// An unknown value is an error that lists the known ones.
func OptionsFromEnv() (Options, error) {
	options := Options{
		Mode:      Mode(os.Getenv("CLUSTER")),
		Dir:       os.Getenv("LOOPWRIGHT_DIR"),
		KindName:  os.Getenv("KIND_NAME"),
		KindImage: os.Getenv("KIND_IMAGE"),
		In:        os.Stdin,
		Out:       os.Stderr,
	}
	options.Originals = append(options.Originals, strings.FieldsFunc(os.Getenv("ORIGINALS"), func(r rune) bool { return r == ',' || r == ' ' })...)
	var err error
	if options.Nodes, err = numberFromEnv("NODES"); err != nil {
		return Options{}, err
	}
	if options.Port, err = numberFromEnv("PORT"); err != nil {
		return Options{}, err
	}
	if yes := os.Getenv("YES"); yes != "" {
		if options.Yes, err = strconv.ParseBool(yes); err != nil {
			return Options{}, fmt.Errorf("YES=%q: want 1 or 0", yes)
		}
	}
	return options.withDefaults()
}

func numberFromEnv(name string) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("%s=%q: want a whole number of at least 1", name, text)
	}
	return number, nil
}

// withDefaults fills in the empty options and refuses those that make no sense.
func (o Options) withDefaults() (Options, error) {
	if o.Mode == "" {
		o.Mode = Embedded
	}
	if !slices.Contains([]Mode{Embedded, Kind, Current}, o.Mode) {
		return o, fmt.Errorf("CLUSTER=%q: want embedded (the default), kind or current", o.Mode)
	}
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return o, fmt.Errorf("%d nodes: want 1 to %d", o.Nodes, maxNodes)
	}
	if o.Port < 0 || o.Port > 65535 {
		return o, fmt.Errorf("port %d: want one of 1 to 65535, or none for any free one", o.Port)
	}
	if err := o.checkOriginals(); err != nil {
		return o, err
	}
	if err := checkParts(o.Parts); err != nil {
		return o, err
	}
	if o.KindName == "" {
		o.KindName = defaultKindName
	}
	if !kindNames.MatchString(o.KindName) {
		return o, fmt.Errorf("KIND_NAME=%q: want lower-case letters, digits, dots and dashes", o.KindName)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Dir == "" && o.Mode != Current {
		root, err := checkoutRoot()
		if err != nil {
			return o, err
		}
		o.Dir = stateDir(root)
	}
	if o.Dir != "" { // what is printed of it must hold in other directories too
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return o, fmt.Errorf("finding the directory %s: %w", o.Dir, err)
		}
		o.Dir = dir
	}
	return o, nil
}

func (o Options) checkOriginals() error {
	if slices.Equal(o.Originals, []string{Bare}) {
		if o.Mode == Kind {
			return errors.New("ORIGINALS=bare needs CLUSTER=embedded: kubeadm's nodes need more controllers to join")
		}
		return nil
	}
	for _, name := range o.Originals {
		optional, isOff := strings.CutPrefix(name, off)
		if isOff && !slices.Contains(OptionalControllers, optional) || !isOff && !slices.Contains(SampleControllers, name) {
			return fmt.Errorf("ORIGINALS names %q: want some of %s, %s%s, or %s alone", name, strings.Join(SampleControllers, ", "),
				off, strings.Join(OptionalControllers, ", "+off), Bare)
		}
	}
	return nil
}

// A Cluster is a cluster that has answered. It stays up when the process ends, unless it's
// ephemeral.
type Cluster struct {
	Mode Mode
	// Name tells a person which cluster it is.
	Name string
	// Kubeconfig is the path of a kubeconfig for kubectl.
	Kubeconfig string
	// Kubectl is the path of a kubectl that was built with an embedded cluster.
	Kubectl string

	config   *rest.Config
	embedded *embedded // of mode Embedded
	scratch  *scratch  // of an ephemeral one without Options.Dir
	kindName string    // of mode Kind
}

// Of returns a Cluster for an API server that the caller has started, and will stop: for a test
// with its own API server.
func Of(name string, config *rest.Config) *Cluster { return &Cluster{Name: name, config: config} }

// RESTConfig returns a copy of the configuration that reaches the cluster, as its administrator. It
// sets no limit on requests per second; if your client needs one, set QPS and Burst.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Up returns a cluster that is ready for use: it finds it or makes it.
//
// Guarantees: calling it again, even at the same time from another process, gives the same cluster.
// Up repairs an embedded cluster that was damaged (a killed process, a reboot), and keeps its data.
// An Up that fails stops what it has started.
//
// Errors name the part that failed, quote the end of its log, and say what to do.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	if options.Ephemeral && options.Dir == "" && (options.Mode == Embedded || options.Mode == "") {
		return upScratch(ctx, options)
	}
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	switch options.Mode {
	case Kind:
		return upKind(ctx, options)
	case Current:
		return useCurrent(ctx, options)
	default:
		return upEmbedded(ctx, options)
	}
}

// Down removes the cluster and its data. It isn't an error if there's no cluster. Down refuses to
// touch the current kubeconfig's cluster.
func Down(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	switch options.Mode {
	case Kind:
		return downKind(ctx, options)
	case Current:
		return errors.New("taking down CLUSTER=current: refused, because this project did not make that cluster")
	default:
		return downEmbedded(ctx, options)
	}
}

// Down stops the parts of an embedded cluster and removes its data, as the function Down does. It
// waits until all their output has been passed to Options.Output.
func (c *Cluster) Down(ctx context.Context) error {
	if c.Mode != Embedded {
		return fmt.Errorf("taking down a %s cluster: %w", c.Mode, ErrOutOfReach)
	}
	if err := downEmbedded(ctx, c.embedded.options); err != nil {
		return err
	}
	for _, exited := range c.embedded.exited {
		<-exited // the part has ended, so this returns soon
	}
	if c.scratch == nil {
		return nil
	}
	if err := c.scratch.remove(); err != nil {
		return err
	}
	c.scratch = nil // it's gone
	return nil
}

// EtcdURL is where the etcd of an embedded cluster serves its only client, the API server. For
// other clusters it's empty.
func (c *Cluster) EtcdURL() string {
	if c.Mode != Embedded {
		return ""
	}
	return c.embedded.state.etcdURL()
}

// ErrOutOfReach is returned when a cluster's mode can't do something.
var ErrOutOfReach = errors.New("this kind of cluster cannot do it: use CLUSTER=embedded")

// Restart kills one part of the control plane, starts it again on the same port with the same data,
// and waits until the API server is ready. An embedded cluster can restart every part, which stays
// down for as long as down says. A kind cluster can restart its API server, which the kubelet
// starts again at once. A current one can do neither.
func (c *Cluster) Restart(ctx context.Context, part Part, down time.Duration) error {
	switch {
	case c.Mode == Embedded:
		return c.embedded.restart(ctx, part, down)
	case c.Mode == Kind && part == APIServer:
		return c.restartKind(ctx)
	default:
		return fmt.Errorf("restarting %s of a %s cluster: %w", part, c.Mode, ErrOutOfReach)
	}
}

// StopPart stops one part of an embedded cluster gracefully, until StartPart starts it again. It
// isn't an error if the part doesn't run.
func (c *Cluster) StopPart(ctx context.Context, part Part) error {
	if c.Mode != Embedded {
		return fmt.Errorf("stopping %s of a %s cluster: %w", part, c.Mode, ErrOutOfReach)
	}
	return c.embedded.stopPart(ctx, part)
}

// StartPart starts a part that StopPart stopped, on the same port with the same data. It returns
// when the API server is ready; etcd without one is ready at once.
func (c *Cluster) StartPart(ctx context.Context, part Part) error {
	if c.Mode != Embedded {
		return fmt.Errorf("starting %s of a %s cluster: %w", part, c.Mode, ErrOutOfReach)
	}
	return c.embedded.startPart(ctx, part)
}

// Compact makes etcd forget the history up to now, as a production API server
// does every five minutes, and returns the revision from which history remains.
func (c *Cluster) Compact(ctx context.Context) (revision int64, err error) {
	if c.Mode != Embedded {
		return 0, fmt.Errorf("compacting etcd of a %s cluster: %w", c.Mode, ErrOutOfReach)
	}
	return c.embedded.compact(ctx)
}
