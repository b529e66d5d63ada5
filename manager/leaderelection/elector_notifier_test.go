package leaderelection

import (
	"context"
	"runtime"
	"slices"
	"sync"
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

// A process that has ended its work would stay for StopTimeout: the loop has to notice that the
// last event is told, whether that is before, while or after it looks.
func TestTheLastEventDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 3000 {
			ctx, stop := context.WithCancel(t.Context())
			elector, err := NewLeaderElector(LeaderElectionConfig{
				Lock: &ownLock{}, Name: "it", StopTimeout: time.Hour,
				LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
				Callbacks: LeaderCallbacks{OnStartedLeading: func(context.Context) {
					stop()
				}, OnStoppedLeading: func() {}},
			})
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, elector.Elect(ctx))
			require.Less(t, time.Since(began), time.Minute,
				"nothing was left to do but to tell an event")
		}
	})
}

// recordingLock writes down what it is told, and takes its time.
type recordingLock struct {
	ownLock
	mu    sync.Mutex // guards story
	story []string
}

func (l *recordingLock) RecordEvent(event string) {
	l.say(event)
	time.Sleep(time.Second)
	l.say(event + ", recorded")
}

func (l *recordingLock) say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story = append(l.story, what)
}

func (l *recordingLock) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.story)
}

func recordingTeller() (*recordingLock, *notifier) {
	lock := &recordingLock{}
	return lock, newNotifier(lock, func(leader string) { lock.say("leader " + leader) })
}

// Events are how people see who led when, and a callback is how programs do.
func TestEventsAndLeadersAreToldAsTheyComeAndOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, notifier := recordingTeller()
		notifier.sees("a")
		synctest.Wait()
		require.Equal(t, []string{"leader a"}, lock.told())
		notifier.sees("a")
		notifier.event("became leader")
		synctest.Wait()
		require.Equal(t, []string{"leader a", "became leader"}, lock.told(),
			"a leader is told once")
		notifier.event("stopped leading")
		notifier.sees("b")
		notifier.sees("c")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"leader a", "became leader", "became leader, recorded",
			"stopped leading", "stopped leading, recorded", "leader c"}, lock.told(),
			"what comes while something is told waits, and of the leaders the last one counts")
	})
}

func TestALeaderThatNobodyWantsToKnowIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notifier := newNotifier(&ownLock{}, nil)
		notifier.sees("a")
		synctest.Wait()
		require.True(t, notifier.finished())
	})
}

// The last answer of a lock may come when all seems to be told.
func TestWhatIsToldAfterTheEndIsWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, notifier := recordingTeller()
		require.True(t, notifier.finished(), "there is nothing to tell")
		for _, leader := range []string{"a", "b"} {
			notifier.event("stopped leading")
			notifier.sees(leader)
			require.False(t, notifier.finished())
			<-notifier.told
			require.True(t, notifier.finished())
			require.Contains(t, lock.told(), "leader "+leader)
		}
	})
}

// The loop may be busy when the last event has been told. If it misses that, the process stays for
// StopTimeout.
func TestTheEndOfTheTellingIsKeptForALoopThatIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, notifier := recordingTeller()
		notifier.event("stopped leading")
		require.False(t, notifier.finished())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, notifier.told, 1)
		require.True(t, notifier.finished())
	})
}

// takenLock is a lock that somebody else takes by force after the first write, and that does not
// look at contexts.
type takenLock struct {
	ownLock
	taken bool
}

func (l *takenLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if !l.taken {
		return l.ownLock.Get(ctx)
	}
	time.Sleep(time.Second) // whatever becomes of the context
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "thief"}, []byte("thief"), nil
}

func (l *takenLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.taken = true
	return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "it", nil)
}

// Somebody takes the lock by force while this replica stops. It must stop in good order all the
// same.
func TestALeaderThatLearnsOfAnotherOneWhileItStopsTellsItAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		started := make(chan struct{})
		lock := &takenLock{}
		elector, err := NewLeaderElector(LeaderElectionConfig{
			Lock: lock, Name: "it",
			LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					close(started)
				}, OnStoppedLeading: func() {},
				OnNewLeader: func(leader string) { seen = append(seen, leader) },
			},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- elector.Elect(ctx) }()
		<-started
		time.Sleep(worldTiming.retry + time.Second/2) // its renewal was refused, and it reads
		synctest.Wait()
		require.True(t, lock.taken)
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, []string{"me", "thief"}, seen)
	})
}
