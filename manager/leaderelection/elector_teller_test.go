package leaderelection

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// ownLock is a lock that nobody else wants.
type ownLock struct {
	record *resourcelock.LeaderElectionRecord
}

func (l *ownLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "it")
	}
	return l.record, nil, nil
}

func (l *ownLock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.record = &record
	return nil
}

func (l *ownLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, record)
}

func (l *ownLock) RecordEvent(string) { runtime.Gosched() }
func (l *ownLock) Identity() string   { return "me" }
func (l *ownLock) Describe() string   { return "it" }

// A process that has ended its work would stay for StopTimeout: the loop has to notice that the last event is told,
// whether that is before, while or after it looks.
func TestTheLastEventDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 3000 {
			ctx, stop := context.WithCancel(t.Context())
			elector, err := NewLeaderElector(LeaderElectionConfig{
				Lock: &ownLock{}, Name: "it", TakeMissingAtOnce: true, StopTimeout: time.Hour,
				LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
				Callbacks: LeaderCallbacks{OnStartedLeading: func(context.Context) { stop() }, OnStoppedLeading: func() {}},
			})
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, elector.Elect(ctx))
			require.Less(t, time.Since(began), time.Minute, "nothing was left to do but to tell an event")
		}
	})
}
