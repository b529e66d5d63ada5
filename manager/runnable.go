package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/webhook"
)

// Runnable is what a manager starts and stops. Start runs until the context ends, or until there is
// nothing left to do. An error that it returns stops the manager, which returns it.
//
// It is an alias of an interface without a name, so that a package can have a method
// Add(Runnable) in an interface of its own and need not import this one; see controller.New.
type Runnable = interface {
	Start(ctx context.Context) error
}

// RunnableFunc is a function that is a Runnable.
type RunnableFunc func(ctx context.Context) error

// Start implements Runnable.
func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

// LeaderElectionRunnable is implemented by a Runnable that says whether it may run only while the
// manager leads. One that does not say waits for the lead.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// ReadyRunnable is implemented by a Runnable that others depend on: the manager does not start
// what comes after its group before WaitUntilReady has returned nil. An error stops the manager. Nothing waits for
// a runnable that is added while its group runs: an error is logged. The context ends when Start has returned.
//
// controller-runtime does this for caches alone, and there is no way to ask for it.
type ReadyRunnable interface {
	WaitUntilReady(ctx context.Context) error
}

// warmupRunnable is implemented by a Runnable that can prepare itself while it waits for the lead.
type warmupRunnable interface {
	Warmup(ctx context.Context) error
}

// BaseContextFunc returns the context whose values all runnables find in theirs.
type BaseContextFunc func() context.Context

// nameOf is what a runnable is called in messages.
func nameOf(r Runnable) string {
	if named, ok := r.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", r)
}

// place is where a runnable, or a part of it, belongs.
type place struct {
	group  groupName
	member *member
}

// hasCache is implemented by a cluster, and so by a manager, which can be added to another one.
type hasCache interface {
	GetCache() cache.Cache
}

// placesOf decides where a runnable belongs: in one group, or in that for the warm-up as well.
func placesOf(r Runnable, syncTimeout time.Duration) []place {
	m := &member{runnable: r, start: r.Start}
	if needs, ok := r.(ReadyRunnable); ok {
		m.ready = needs.WaitUntilReady
	}
	switch is := r.(type) {
	case *Server:
		if is.OnlyServeWhenLeader {
			return []place{{elected, m}}
		}
		return []place{{httpServers, m}}
	case hasCache:
		if m.ready == nil {
			m.ready = func(ctx context.Context) error { return waitForSync(ctx, is.GetCache(), syncTimeout) }
		}
		return []place{{caches, m}}
	case webhook.Server:
		return []place{{webhooks, m}}
	}
	var places []place
	if warm, ok := r.(warmupRunnable); ok {
		places = append(places, place{warmups, &member{runnable: r, start: warm.Warmup}})
	}
	if election, ok := r.(LeaderElectionRunnable); ok && !election.NeedLeaderElection() {
		return append(places, place{others, m})
	}
	return append(places, place{elected, m})
}

// waitForSync waits until the informers that were asked for before the start have listed.
func waitForSync(ctx context.Context, c cache.Cache, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("this has taken longer than %s", timeout))
		defer cancel()
	}
	return cache.WaitForSync(ctx, c)
}
