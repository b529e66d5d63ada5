package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Exclusive acquires the cluster's lock for a purpose, such as "demo". It waits until no other
// process of this checkout holds it, and holds it until release is called or the process ends. Only
// embedded clusters have such a lock; for others, Exclusive returns at once.
func (c *Cluster) Exclusive(ctx context.Context, purpose string, out io.Writer) (release func(), err error) {
	if c.Mode != Embedded {
		return func() {}, nil
	}
	return lockFile(ctx, filepath.Join(c.embedded.at.dir, purpose+".lock"), purpose, out)
}

// restart kills a part, and starts it again after the downtime.
func (c *embedded) restart(ctx context.Context, part Part, down time.Duration) error {
	unlock, err := lockFile(ctx, c.at.lock(), "restarting "+string(part), c.out)
	if err != nil {
		return err
	}
	defer unlock()
	if err := kill(part, c.at); err != nil {
		return err
	}
	if err := pause(ctx, down); err != nil {
		return fmt.Errorf("restarting %s: %w", part, err)
	}
	return c.startAgain(ctx, part)
}

// stopPart stops a part gracefully.
func (c *embedded) stopPart(ctx context.Context, part Part) error {
	unlock, err := lockFile(ctx, c.at.lock(), "stopping "+string(part), c.out)
	if err != nil {
		return err
	}
	defer unlock()
	return stop(part, c.at)
}

// startPart starts a part, unless it runs.
func (c *embedded) startPart(ctx context.Context, part Part) error {
	unlock, err := lockFile(ctx, c.at.lock(), "starting "+string(part), c.out)
	if err != nil {
		return err
	}
	defer unlock()
	if _, runs := pidOf(part, c.at); runs {
		return nil
	}
	return c.startAgain(ctx, part)
}

// startAgain starts a part on its old port and data, and waits for the API server. The caller
// holds the lock.
func (c *embedded) startAgain(ctx context.Context, part Part) error {
	if part == Kwok {
		if err := freeNodes(ctx, c.client); err != nil {
			return fmt.Errorf("restarting %s: %w", part, err)
		}
	}
	if err := c.startParts(part); err != nil {
		return err
	}
	if part == Etcd && !isLocked(c.at.alive(APIServer)) { // both were stopped: there's no API server to ask
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooSlow)
	defer cancel()
	return c.await(ctx, "the API server", part, checkServing)
}

func (c *embedded) compact(ctx context.Context) (int64, error) {
	command := exec.CommandContext(ctx, c.binaries.controlplane, "compact",
		"--endpoint="+c.state.etcdURL(),
		"--cert-file="+c.at.pki("etcd-client.crt"),
		"--key-file="+c.at.pki("etcd-client.key"),
		"--trusted-ca-file="+c.at.pki("etcd-ca.crt"))
	command.Env = partEnvironment(c.at)
	command.WaitDelay = time.Second
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("compacting etcd: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
}

// downEmbedded stops the parts and removes everything that up made, except for the directory itself
// and the binaries.
func downEmbedded(ctx context.Context, options Options) error {
	at := place{dir: options.Dir}
	if _, err := os.Stat(at.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lockFile(ctx, at.lock(), "taking the cluster down", options.Out)
	if err != nil {
		return err
	}
	defer unlock()
	if err := stopAll(at); err != nil {
		return err
	}
	cutLifeline(at)
	return at.remove()
}
