package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/webhook"
)

// Runnable is a part of the program that a manager starts and stops. Start runs until the context
// ends, or until its work is done. If it returns an error, the manager stops and returns that
// error.
//
// It's an alias of an unnamed interface, so that another package can declare an interface with a
// method Add(Runnable) without importing this one; see controller.New.
type Runnable = interface {
	Start(ctx context.Context) error
}

// RunnableFunc is a function that is a Runnable.
type RunnableFunc func(ctx context.Context) error

// Start implements Runnable.
func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

// LeaderElectionRunnable is a Runnable that says whether it runs only in the leader. A Runnable
// without this method does.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// ReadyRunnable is a Runnable that others depend on: the manager starts the next group only after
// WaitUntilReady has returned nil. If it returns an error, the manager stops. If the runnable is
// added while its group runs, nobody waits for it, and an error is only logged. The context ends
// when Start has returned.
//
// controller-runtime has no such interface: it waits for caches only.
type ReadyRunnable interface {
	WaitUntilReady(ctx context.Context) error
}

// warmupRunnable is a Runnable that can prepare itself before its replica leads.
type warmupRunnable interface {
	Warmup(ctx context.Context) error
}

// BaseContextFunc returns a context with the values that all runnables find in theirs.
type BaseContextFunc func() context.Context

// place is a group, and what to start there for a runnable.
type place struct {
	group  groupName
	member *member
}

// hasCache is implemented by a cluster, and so by a manager, which you can add to another manager.
type hasCache interface {
	GetCache() cache.Cache
}

// placesOf decides where a runnable belongs: in one group, and also in warmups if it has a warm-up.
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
			m.ready = func(ctx context.Context) error {
				return waitForSync(ctx, is.GetCache(), syncTimeout)
			}
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

// waitForSync waits until the informers that were requested before the start have listed.
func waitForSync(ctx context.Context, c cache.Cache, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout,
			fmt.Errorf("this has taken longer than %s", timeout))
		defer cancel()
	}
	return cache.WaitForSync(ctx, c)
}
