package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// cloud is where the databases are. The demo plays it, so that the demo decides, and not the
// machine's pace, what goes wrong and when.
type cloud struct {
	mu       sync.Mutex               // guards all below
	made     map[string]int           // sizes of databases
	refusals map[string]int           // how often it is still going to refuse
	delays   map[string]time.Duration // until a database is ready
	holds    map[string]chan struct{} // closed by release; calls receive
	calls    map[string]bool          // those that are held
	changed  chan struct{}            // closed and replaced when calls changes
}

func newCloud() *cloud {
	return &cloud{
		made: map[string]int{}, refusals: map[string]int{}, delays: map[string]time.Duration{},
		holds: map[string]chan struct{}{}, calls: map[string]bool{}, changed: make(chan struct{}),
	}
}

var errBusy = errors.New("the cloud is busy")

// provide makes a database, or changes its size. It returns how long the caller has to wait until the
// database is ready; 0 if it is. Like a call over a network, it ends with its context.
func (c *cloud) provide(ctx context.Context, name string, size int) (left time.Duration, err error) {
	if err := c.wait(ctx, name); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals[name] > 0 {
		c.refusals[name]--
		return 0, errBusy
	}
	left = c.delays[name]
	delete(c.delays, name) // by then it is ready
	c.made[name] = size
	return left, nil
}

// wait returns when calls for this database are not held.
func (c *cloud) wait(ctx context.Context, name string) error {
	c.mu.Lock()
	hold := c.holds[name]
	c.mu.Unlock()
	if hold == nil {
		return nil
	}
	c.setHeld(name, true)
	defer c.setHeld(name, false)
	select {
	case <-hold:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the cloud did not answer: %w", context.Cause(ctx))
	}
}

func (c *cloud) setHeld(name string, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[name] = held
	close(c.changed)
	c.changed = make(chan struct{})
}

// asked waits until a call for this database is held.
func (c *cloud) asked(ctx context.Context, name string) error {
	for {
		c.mu.Lock()
		held, changed := c.calls[name], c.changed
		c.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the cloud to be asked for the %s: %w", name, context.Cause(ctx))
		}
	}
}

// hold lets calls for this database wait until release.
func (c *cloud) hold(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[name] = make(chan struct{})
}

func (c *cloud) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.holds[name])
	delete(c.holds, name)
}

func (c *cloud) refuse(name string, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusals[name] = times
}

func (c *cloud) delay(name string, time time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays[name] = time
}
