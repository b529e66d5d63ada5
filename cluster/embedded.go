package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startLimit is how long a whole start may take. It takes 5 to 9 s on two
	// idle cores; the rest is for busy machines.
	startLimit = 2 * time.Minute
	// checkLimit is how long a running API server may take to prove its health.
	checkLimit = 5 * time.Second
	// portTries is how often a port that somebody snatched is replaced.
	portTries = 3
)

// embedded is a control plane that runs as processes of this machine.
type embedded struct {
	at       place
	binaries binaries
	state    state
	client   kubernetes.Interface
	// exited has, for each part that this process started, a channel that is
	// closed when the part ends.
	exited map[Part]<-chan struct{}
	// lifeline is the writing end of the parts' lifeline. It is never written
	// to; that it is open is what keeps an ephemeral cluster alive.
	lifeline *os.File
	out      io.Writer
}

func upEmbedded(ctx context.Context, options Options) (*Cluster, error) {
	root, err := checkoutRoot()
	if err != nil {
		return nil, err
	}
	at := place{dir: options.Dir}
	if at.dir, err = filepath.Abs(at.dir); err != nil {
		return nil, fmt.Errorf("finding the directory %s: %w", options.Dir, err)
	}
	if err := at.make(); err != nil {
		return nil, err
	}
	binaries, err := build(ctx, root, options.Out)
	if err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, at.lock(), "bringing the cluster up", options.Out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := at.make(); err != nil { // a `down` may have run while we waited
		return nil, err
	}
	cluster := &embedded{at: at, binaries: binaries, exited: map[Part]<-chan struct{}{}, out: options.Out}
	if err := cluster.up(ctx, options); err != nil {
		return nil, err
	}
	config, err := cluster.config()
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Mode: Embedded, Name: "embedded control plane " + kubernetesVersion + " at " + cluster.state.serverURL(),
		Kubeconfig: at.kubeconfig(), config: config, embedded: cluster,
	}, nil
}

// up leaves a running cluster alone if it is whole and as wanted, and otherwise
// stops what is left of it and starts all parts on the data that are there.
func (c *embedded) up(ctx context.Context, options Options) error {
	found, known, err := loadState(c.at)
	if err != nil {
		return err
	}
	c.state = found
	if known {
		flaw := c.flaw(ctx, options)
		if flaw == nil {
			return ensureNodes(ctx, c.client, options.Nodes)
		}
		if !errors.Is(flaw, errStopped) {
			c.say("The cluster needs a new start: %v.", flaw)
		}
	}
	if err := stopAll(c.at); err != nil {
		return err
	}
	begin := time.Now()
	err = c.startOnSomePort(ctx, options)
	if err != nil {
		return errors.Join(fmt.Errorf("bringing up the embedded cluster: %w\n`make cluster-down` removes the cluster with its data; `make cluster-up` then makes a new one", err), stopAll(c.at))
	}
	c.say("Control plane %s up in %.1f s at %s, %d nodes.", kubernetesVersion, time.Since(begin).Seconds(), c.state.serverURL(), options.Nodes)
	return nil
}

// errStopped: nothing runs, so there is nothing to remark on.
var errStopped = errors.New("it does not run")

// flaw tells why a known cluster cannot be used as it is, or nil.
func (c *embedded) flaw(ctx context.Context, options Options) error {
	var dead []string
	for _, part := range Parts {
		if !isLocked(c.at.alive(part)) {
			dead = append(dead, string(part))
		}
	}
	switch {
	case len(dead) == len(Parts):
		return errStopped
	case len(dead) > 0:
		return fmt.Errorf("it lacks %s", strings.Join(dead, ", "))
	case c.state.Binaries != c.binaries.id:
		return errors.New("it runs another build of the control plane")
	case !slices.Equal(slices.Sorted(slices.Values(c.state.Originals)), slices.Sorted(slices.Values(options.Originals))):
		return errors.New("other controllers are wanted in kube-controller-manager")
	case options.Port != 0 && options.Port != c.state.APIServerPort:
		return fmt.Errorf("port %d is wanted", options.Port)
	}
	if err := c.connect(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return errors.Join(checkServing(ctx, c.client), checkWritable(ctx, c.client))
}

// startOnSomePort starts all parts. Between finding a free port and using it,
// somebody else may take it: then it tries others.
func (c *embedded) startOnSomePort(ctx context.Context, options Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	if !pkiIsFresh(c.at, time.Now()) {
		if err := writePKI(c.at); err != nil {
			return err
		}
	}
	c.state.Originals, c.state.Binaries = options.Originals, c.binaries.id
	if err := c.tieLifeline(options.Ephemeral); err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err := c.state.choosePorts(options.Port); err != nil {
			return err
		}
		err := c.start(ctx, options)
		if err == nil || try == portTries || options.Port != 0 || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
		c.say("A port was taken meanwhile; trying others.")
		if err := stopAll(c.at); err != nil {
			return err
		}
	}
}

func (c *embedded) tieLifeline(ephemeral bool) (err error) {
	if !ephemeral {
		return nil
	}
	if c.state.lifeline, c.lifeline, err = os.Pipe(); err != nil {
		return fmt.Errorf("making the lifeline: %w", err)
	}
	return nil
}

// start brings the parts up in the order of their needs.
func (c *embedded) start(ctx context.Context, options Options) error {
	c.state.Started = time.Now().UTC().Truncate(time.Second)
	if err := errors.Join(pointKubeconfigs(c.at, c.state.serverURL()), c.state.save(c.at), c.linkKubectl()); err != nil {
		return err
	}
	if err := c.startParts(Etcd, APIServer); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server", checkServing); err != nil {
		return err
	}
	if err := errors.Join(allowKwok(ctx, c.client), checkWritable(ctx, c.client)); err != nil {
		return failed(APIServer, c.at, err)
	}
	if err := c.startParts(ControllerManager, Scheduler, Kwok); err != nil {
		return err
	}
	if err := ensureNodes(ctx, c.client, options.Nodes); err != nil {
		return err
	}
	return c.await(ctx, "nodes and the default ServiceAccount", checkUsable)
}

func (c *embedded) startParts(parts ...Part) error {
	for _, part := range parts {
		exited, err := start(part, c.at, c.state, c.binaries)
		if err != nil {
			return err
		}
		c.exited[part] = exited
	}
	return nil
}

func (c *embedded) await(ctx context.Context, what string, check func(context.Context, kubernetes.Interface) error) error {
	return awaitReady(ctx, what, c.exited, c.at, func(ctx context.Context) error { return check(ctx, c.client) })
}

// config reaches the cluster as its administrator, past every proxy, and leaves
// flow control to the API server.
func (c *embedded) config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.at.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	config.Proxy = noProxy
	config.QPS = -1
	return config, nil
}

func (c *embedded) connect() error {
	config, err := c.config()
	if err != nil {
		return err
	}
	config.Timeout = checkLimit
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client for the cluster: %w", err)
	}
	return nil
}

// linkKubectl puts a kubectl beside the cluster, for those who have none.
func (c *embedded) linkKubectl() error {
	link := c.at.kubectl()
	if to, err := os.Readlink(link); err == nil && to == c.binaries.controlplane {
		return nil
	}
	_ = os.Remove(link)
	if err := os.Symlink(c.binaries.controlplane, link); err != nil {
		return fmt.Errorf("making kubectl: %w", err)
	}
	return nil
}

func (c *embedded) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }
