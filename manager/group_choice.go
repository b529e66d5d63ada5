package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/webhook"
)

// place is a group, and what to start there for a runnable.
type place struct {
	group  groupName
	member *member
}

// warmupRunnable is a Runnable that can prepare itself before its replica leads.
type warmupRunnable interface {
	Warmup(ctx context.Context) error
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
