package devca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Start publishes the CA and renews the certificates, until the context ends. A server from
// NewServer calls it.
//
// Errors: it returns an error if it can't make a certificate. If the API server doesn't answer,
// or refuses, it tries again.
func (c *CA) Start(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var publishers sync.WaitGroup
	defer publishers.Wait()
	defer stop()
	for _, t := range c.targets {
		p := publisher{client: c.client, target: t, bundle: c.present, report: c.report}
		publishers.Go(p.withContext(ctx))
	}
	for {
		until, changed, err := c.advance(wallClock())
		if err != nil {
			return err
		}
		select {
		case <-time.After(min(time.Until(until), clockLook)):
		case <-changed:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// clockLook is how often to look whether something is due. A timer stands still while the machine is
// suspended, and certificates run out.
const clockLook = time.Minute

// wallClock is the time without the reading of the clock that stands still during a suspension.
func wallClock() time.Time { return time.Now().Round(0) }

func (t publisher) withContext(ctx context.Context) func() { return func() { t.run(ctx) } }

// advance takes the steps that are due. It returns when the next one is due, and a channel that is
// closed if an announcement comes first.
func (c *CA) advance(now time.Time) (time.Time, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.generation.bundle()
	for {
		if c.generation.next != nil && c.generation.told.IsZero() && c.announcedLocked() == nil {
			c.generation.told = now
		}
		what, at := c.generation.due(now)
		if what == stay {
			if !bytes.Equal(before, c.generation.bundle()) {
				close(c.another)
				c.another = make(chan struct{})
			}
			return at, c.changed, nil
		}
		var err error
		if c.generation, err = c.generation.take(what, now, c.options); err != nil {
			return time.Time{}, nil, err
		}
		close(c.stepped)
		c.stepped = make(chan struct{})
	}
}

// Renew renews the CA now, and returns when the new one signs. While Start runs, this takes some
// seconds, because the API server has to read the new CA first. If a renewal is already running,
// Renew waits for that one.
//
// Errors: it returns an error if ctx ends first. The renewal goes on then.
func (c *CA) Renew(ctx context.Context) error {
	c.mu.Lock()
	before := c.generation.signer.pem
	if c.generation.next == nil {
		c.generation.asked = wallClock()
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	for {
		c.mu.Lock()
		done, stepped := !bytes.Equal(before, c.generation.signer.pem), c.stepped
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-stepped:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("renewing the CA: %w", context.Cause(ctx)), c.Announced())
		}
	}
}

// take performs a step.
func (g generation) take(what step, now time.Time, options Options) (generation, error) {
	var err error
	switch what {
	case renew:
		packageLog.Info("Renewing the certificate")
		g.serving, err = g.signer.serve(now, options.Lifetime, options.Hosts)
	case makeNext:
		packageLog.Info("Renewing the CA")
		var next authority
		next, err = newAuthority(now, options.Lifetime*authorityLifetimes)
		g.next, g.told, g.asked = &next, time.Time{}, time.Time{}
	case promote:
		last := g.signer
		g.last, g.signer, g.next, g.told = &last, *g.next, nil, time.Time{}
		g.serving, err = g.signer.serve(now, options.Lifetime, options.Hosts)
	case forgetLast:
		g.last = nil
	}
	return g, err
}

// present is the bundle that targets should have, and a channel that is closed when there's a new
// one.
func (c *CA) present() ([]byte, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation.bundle(), c.another
}

// report records what a target has.
func (c *CA) report(t target, bundle []byte, err error) {
	c.mu.Lock()
	old := c.announced[t]
	c.announced[t] = announcement{bundle, err}
	if !bytes.Equal(old.bundle, bundle) {
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	if err != nil && (old.err == nil || old.err.Error() != err.Error()) {
		packageLog.Error(err, "The API server does not know the CA")
	}
}
