package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/cache"
)

// The election's goroutine may start what needs the lead while the manager still starts the rest.
func TestTwoStartsAtTheSameTimeStartEachGroupOnceAndInOrder(t *testing.T) {
	for range 100 {
		onStage(t, func(t *testing.T, s *stage) {
			var want []string
			for group := range groupName(groupCount) {
				s.put(group, part{slowToBe: time.Second})
				want = append(want, group.String()+" starts", group.String()+" is ready")
			}
			var both sync.WaitGroup
			for _, leads := range []bool{false, true} {
				both.Go(func() { require.NoError(t, s.begin(leads)) })
			}
			both.Wait()
			require.NoError(t, s.begin(true))
			synctest.Wait()
			require.Equal(t, want, s.story.told())
			require.NoError(t, s.end(time.Minute))
		})
	}
}

// curious is a runnable whose name depends on its manager.
type curious struct {
	RunnableFunc
	*groups
}

func (c curious) String() string {
	for group := range groupName(groupCount) {
		c.members(group)
	}
	return "curious"
}

func TestARunnableMayAskTheManagerSomethingWhenItIsAskedForItsName(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		r := curious{func(context.Context) error { time.Sleep(time.Hour); return nil }, s.groups}
		require.NoError(t, s.add(r))
		require.NoError(t, s.begin(true))
		require.ErrorContains(t, s.end(time.Second), "still running: curious")
		require.ErrorContains(t, s.add(r), "curious cannot be added")
		time.Sleep(2 * time.Hour)
	})
}

// Whoever has no time to wait, and need not, must not hear that something is left.
func TestAStopWithoutTimeIsNoErrorIfNothingRuns(t *testing.T) {
	for range 100 {
		onStage(t, func(t *testing.T, s *stage) {
			s.put(elected, part{name: "never started"})
			require.NoError(t, s.begin(false))
			require.NoError(t, s.end(0))
			require.Empty(t, s.members(elected), "what was never started is not there any more")
		})
	}
}

// prepared is a runnable that works in every replica and has something to prepare.
type prepared struct{ independent }

func (p *prepared) Warmup(context.Context) error { p.story.say("%s warms up", p.name); return nil }

// Whether it needs the lead is its own affair. A runnable that has a method Warmup may rely on it.
func TestARunnableThatDoesNotNeedTheLeadIsWarmedUpToo(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		require.NoError(t, s.add(&prepared{independent{part{name: "probe", story: &s.story}}}))
		require.NoError(t, s.begin(false))
		synctest.Wait()
		require.ElementsMatch(t, []string{"probe starts", "probe warms up"}, s.story.told())
		require.NoError(t, s.end(time.Second))
	})
}

// The lease may be lost in the moment in which it is won. What needs it must not begin then, and no
// caller may believe that it has.
func TestAGroupThatWasClosedBeforeItsStartStartsNothingAndSaysSo(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(elected, part{})
		s.all[elected].close()
		require.ErrorIs(t, s.begin(true), ErrStopped)
		synctest.Wait()
		require.Empty(t, s.story.told())
		require.NoError(t, s.end(time.Second))
	})
}

// The manager stops with the first error that it hears. That must be the runnable's own, and not
// that of the start which waited for it.
func TestAFailureIsReportedBeforeThoseWhoWaitForTheRunnableHearOfIt(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(caches, part{slowToBe: time.Hour, failure: errors.New("broken")})
		started := make(chan error, 1)
		s.onFailure(func(error) {
			synctest.Wait()
			require.Empty(t, started, "the start has returned")
		})
		go func() { started <- s.begin(true) }()
		time.Sleep(time.Second)
		require.ErrorContains(t, <-started, "caches is not ready: ")
		require.NoError(t, s.end(time.Second))
	})
}

// otherCluster is a runnable with a cache.
type otherCluster struct {
	part
	lists bool
}

func (c *otherCluster) GetCache() cache.Cache { return otherCache{c: c} }

type otherCache struct {
	cache.Cache
	c *otherCluster
}

func (o otherCache) WaitForCacheSync(ctx context.Context) bool {
	if !o.c.lists {
		<-ctx.Done()
		return false
	}
	o.c.story.say("%s has listed", o.c.name)
	return true
}

// A program may come to know another cluster while it runs. If that cannot be listed, the log is
// the only place that says so.
func TestACacheThatIsAddedWhileTheManagerRunsIsWaitedFor(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		require.NoError(t, s.begin(true))
		for _, lists := range []bool{true, false} {
			require.NoError(t, s.add(&otherCluster{part{name: fmt.Sprint("a cluster that lists: ",
				lists), story: &s.story}, lists}))
		}
		synctest.Wait()
		require.Contains(t, s.story.told(), "a cluster that lists: true has listed")
		require.Empty(t, s.logged.told())
		time.Sleep(time.Hour)
		require.Len(t, s.logged.told(), 1)
		require.Contains(t, s.logged.told()[0], "a cluster that lists: false is not ready")
		require.Contains(t, s.logged.told()[0], "this has taken longer than 1m0s")
		require.NoError(t, s.end(time.Second))
	})
}

// Whoever stops a program knows that nothing more will be ready.
func TestACacheThatHasNotListedAtTheStopIsNotReported(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		require.NoError(t, s.begin(true))
		require.NoError(t, s.add(&otherCluster{part: part{name: "far", story: &s.story}}))
		synctest.Wait()
		require.NoError(t, s.end(time.Second))
		require.Empty(t, s.logged.told())
	})
}
