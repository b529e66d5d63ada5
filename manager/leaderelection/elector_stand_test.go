package leaderelection

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// stand is an API server and electors, in a bubble.
type stand struct {
	*testing.T
	server  *fakeapi.Server
	clients *kubernetes.Clientset
}

func inBubble(t *testing.T, f func(*stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		clients, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		f(&stand{T: t, server: server, clients: clients})
	})
}

func (s *stand) lock(identity string) *resourcelock.LeaseLock {
	config := s.server.Config()
	config.UserAgent = identity
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "it"},
		Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

// member is an elector that runs.
type member struct {
	*LeaderElector
	stop    context.CancelCauseFunc
	ended   chan error
	started chan context.Context
	over    atomic.Bool // OnStoppedLeading was called
	winding time.Duration
}

// join runs an elector with the usual times. It does not wait for a lock that is missing, unless
// change says so.
func (s *stand) join(identity string, change ...func(*LeaderElectionConfig)) *member {
	s.Helper()
	m := &member{ended: make(chan error, 1), started: make(chan context.Context, 1)}
	config := LeaderElectionConfig{
		Lock: s.lock(identity), Name: s.Name() + identity,
		LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
		Callbacks: LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				m.started <- ctx
				<-ctx.Done()
				time.Sleep(m.winding)
			},
			OnStoppedLeading: func() { m.over.Store(true) },
		},
	}
	for _, f := range change {
		f(&config)
	}
	var err error
	m.LeaderElector, err = NewLeaderElector(config)
	require.NoError(s, err)
	ctx, stop := context.WithCancelCause(s.Context())
	m.stop = stop
	go func() { m.ended <- m.Elect(ctx) }()
	return m
}

func withRelease(c *LeaderElectionConfig) { c.ReleaseOnCancel = true }

func (s *stand) lease() coordinationv1.LeaseSpec {
	s.Helper()
	lease, err := s.clients.CoordinationV1().Leases("default").Get(s.Context(), "it",
		metav1.GetOptions{})
	require.NoError(s, err)
	return lease.Spec
}

// end stops members and waits for them.
func (s *stand) end(members ...*member) {
	s.Helper()
	for _, m := range members {
		m.stop(nil)
		require.NoError(s, <-m.ended)
		require.True(s, m.over.Load())
	}
}

func (s *stand) onLeases(verb, agent string) fakeapi.Match {
	return fakeapi.Match{Verb: verb, Resource: "leases", UserAgent: agent}
}
