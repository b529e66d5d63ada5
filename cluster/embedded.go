package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// checkLimit is how long a running API server may take to prove its health.
const checkLimit = 5 * time.Second

// embedded is a control plane that runs as processes of this machine.
type embedded struct {
	at       place
	binaries binaries
	state    state
	// connect sets config, which is the administrator's and ignores proxies, and client.
	config *rest.Config
	client kubernetes.Interface
	// exited has, for each part that this process started, a channel that is
	// closed when the part ends.
	exited map[Part]<-chan struct{}
	out    io.Writer
	// options are the options of the Up that found or made the cluster.
	options Options
}

func upEmbedded(ctx context.Context, options Options) (*Cluster, error) {
	at := place{dir: options.Dir}
	if err := at.make(); err != nil {
		return nil, err
	}
	binaries, err := build(ctx, options.Out)
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
	cluster := &embedded{at: at, binaries: binaries, exited: map[Part]<-chan struct{}{}, out: options.Out, options: options}
	if err := cluster.up(ctx, options); err != nil {
		return nil, err
	}
	return &Cluster{
		Mode: Embedded, Name: "embedded control plane " + kubernetesVersion + " at " + cluster.state.serverURL(),
		Kubeconfig: at.kubeconfig(), Kubectl: at.kubectl(), config: cluster.config, embedded: cluster,
	}, nil
}

// up leaves a running cluster alone if it's complete and as the options want it. Otherwise it stops
// what is left of it and starts all parts with the existing data. If the options can't be
// satisfied, or on Ctrl-C, it also leaves the cluster alone.
func (c *embedded) up(ctx context.Context, options Options) error {
	found, known, err := loadState(c.at)
	if err != nil {
		return err
	}
	c.state = found
	if known {
		flaw := c.flaw(ctx, options)
		if flaw == nil {
			return c.explain(ctx, c.settle(ctx, options))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(flaw, errStopped) {
			c.say("Restarting the cluster, which keeps your objects: %v.", flaw)
		}
	}
	if options.Port != 0 && options.Port != found.APIServerPort {
		if err := checkWantedPort(options.Port); err != nil {
			return err
		}
	}
	if err := stopAll(c.at); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.boot(ctx, options); err != nil {
		return c.explain(ctx, errors.Join(err, c.abandon()))
	}
	c.say("Control plane %s up in %.1f s at %s.", kubernetesVersion, time.Since(begin).Seconds(), c.state.serverURL())
	return nil
}

// explain says what failed and, unless the user cancelled, what to do.
func (c *embedded) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("bringing up the embedded cluster: %w", err)
	}
	return fmt.Errorf("bringing up the embedded cluster: %w\n`make cluster-down` removes the cluster with its data; `make cluster-up` then makes a new one", err)
}

// errStopped: nothing runs, so there's nothing to say about it.
var errStopped = errors.New("it does not run")

// flaw returns why an existing cluster can't be used as it is, or nil.
func (c *embedded) flaw(ctx context.Context, options Options) error {
	var dead []string
	wanted := state{Parts: options.Parts}
	alive := 0
	for _, part := range Parts {
		if isLocked(c.at.alive(part)) {
			alive++
		} else if wanted.has(part) {
			dead = append(dead, string(part))
		}
	}
	switch {
	case alive == 0:
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

// abandon removes whatever a failed boot has started: processes, the pipe that ties them to this
// process, and the goroutines that pass on their output.
func (c *embedded) abandon() error {
	if err := stopAll(c.at); err != nil {
		return err
	}
	cutLifeline(c.at)
	for _, exited := range c.exited {
		<-exited // the part has ended, so this returns soon
	}
	return nil
}

func (c *embedded) connect() error {
	config, err := restConfigFromFile(c.at.kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	config.Proxy = noProxy
	c.config = config
	if c.client, err = kubernetes.NewForConfig(withTimeout(config)); err != nil {
		return fmt.Errorf("making a client for the cluster: %w", err)
	}
	return nil
}

func (c *embedded) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }
