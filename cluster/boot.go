package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

const (
	// startLimit is how long a whole start may take. It takes 3 to 6 s on two
	// idle cores; the rest is for busy machines.
	startLimit = 5 * time.Minute
	// startTries is how often to try a start that fails for a temporary reason.
	startTries = 3
)

// boot starts all parts, and tries again if the failure was temporary.
func (c *embedded) boot(ctx context.Context, options Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooSlow)
	defer cancel()
	if !pkiIsFresh(c.at, time.Now()) {
		if err := writePKI(c.at); err != nil {
			return err
		}
	}
	c.state.Originals, c.state.Binaries, c.state.Parts = options.Originals, c.binaries.id, options.Parts
	var err error
	if c.state.lifeline, err = lifelineOf(c.at, options); err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err := c.state.choosePorts(options.Port); err != nil {
			return err
		}
		err := c.start(ctx, options)
		if err == nil || try == startTries {
			return err
		}
		why := passes(err, options)
		if why == "" {
			return err
		}
		c.say("%s", why)
		if err := stopAll(c.at); err != nil {
			return err
		}
	}
}

// passes returns why a failed start may work at the next try, or "" if it can't.
func passes(err error, options Options) string {
	failure := err.Error()
	switch {
	case options.Port == 0 && strings.Contains(failure, "address already in use"): // between finding it free and using it
		return "A port was taken meanwhile; trying others."
	case strings.Contains(failure, "fatal error: concurrent map"): // Go ends a program that has such a bug; kwok 0.8.0 has one
		return "A part ended because of a race in itself; starting again."
	}
	return ""
}

// start brings the parts up in the order of their needs.
func (c *embedded) start(ctx context.Context, options Options) error {
	c.state.Started = time.Now().UTC().Truncate(time.Second)
	if err := errors.Join(pointKubeconfigs(c.at, c.state.serverURL()), c.state.save(c.at), c.linkKubectl()); err != nil {
		return err
	}
	if err := c.dropUnfounded(); err != nil {
		return err
	}
	if err := c.startParts(Etcd, APIServer); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server", APIServer, checkServing); err != nil {
		return err
	}
	err := checkWritable(ctx, c.client)
	if c.state.has(Kwok) {
		err = errors.Join(err, allowKwok(ctx, c.client), freeNodes(ctx, c.client))
	}
	if err != nil {
		if dead := ended(c.exited, c.at); dead != nil { // a clearer reason
			return dead
		}
		return failed(APIServer, c.at, err)
	}
	if err := privateFile(c.at.founded(), nil); err != nil {
		return err
	}
	if err := c.startParts(ControllerManager, Scheduler, Kwok); err != nil {
		return err
	}
	if err := c.settle(ctx, options); err != nil || !c.state.has(Kwok) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooSlow)
	defer cancel()
	return c.await(ctx, "the first address of a Pod", Kwok, checkAddresses)
}

// dropUnfounded removes data with which no API server ever became ready. An etcd that is killed
// right after its first start may leave a log without itself as a member; the next one waits
// forever for a leader.
func (c *embedded) dropUnfounded() error {
	if isFile(c.at.founded()) {
		return nil
	}
	if err := os.RemoveAll(c.at.etcdData()); err != nil {
		return fmt.Errorf("removing the data of a start that was cut off: %w", err)
	}
	return nil
}

// settle gives a running cluster the nodes that the options want, and waits until an ordinary Pod
// would run on them.
func (c *embedded) settle(ctx context.Context, options Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooSlow)
	defer cancel()
	if c.state.has(Kwok) {
		if err := ensureNodes(ctx, c.client, options.Nodes); err != nil {
			return err
		}
		if err := c.await(ctx, "the nodes", Kwok, nodeCheck(c.state.Originals)); err != nil {
			return err
		}
	}
	if !c.state.has(ControllerManager) {
		return nil
	}
	return c.await(ctx, "the default ServiceAccount", ControllerManager, checkServiceAccount)
}

func (c *embedded) startParts(parts ...Part) error {
	for _, part := range parts {
		if !c.state.has(part) {
			continue
		}
		exited, err := start(part, c.at, c.state, c.binaries, c.options)
		if err != nil {
			return err
		}
		c.exited[part] = exited
	}
	return nil
}

func (c *embedded) await(ctx context.Context, what string, suspect Part, check func(context.Context, kubernetes.Interface) error) error {
	return awaitReady(ctx, what, suspect, c.exited, c.at, func(ctx context.Context) error { return check(ctx, c.client) })
}

// linkKubectl puts a kubectl beside the cluster, for users without one.
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
