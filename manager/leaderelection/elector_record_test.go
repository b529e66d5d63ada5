package leaderelection

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/trace"
)

// story is what a flight recorder has heard of a replica, without renewals.
func story(recorder *trace.Recorder, identity string) []string {
	var lines []string
	for _, e := range recorder.Events() {
		switch {
		case e.Layer != identity || e.Op == "renewed":
		case e.Kind == trace.Error:
			request, _, _ := strings.Cut(e.Reason, ": ") // the rest is the server's
			lines = append(lines, e.Outcome.String()+" "+request)
		default:
			lines = append(lines, e.Op+": "+e.Reason)
		}
	}
	return lines
}

func (s *stand) patch(text string) {
	s.Helper()
	_, err := s.clients.CoordinationV1().Leases("default").Patch(s.Context(), "it",
		types.MergePatchType, []byte(text), metav1.PatchOptions{})
	require.NoError(s, err)
}

func (s *stand) remove() {
	s.Helper()
	require.NoError(s, s.clients.CoordinationV1().Leases("default").Delete(s.Context(), "it",
		metav1.DeleteOptions{}))
}

// lateLock is a lock of a user's own, whose answer to the first renewal comes when it is too late,
// but before the lock is free.
type lateLock struct{ resourcelock.Interface }

func (l lateLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	time.Sleep(worldTiming.renew + time.Second)
	return context.DeadlineExceeded
}

// Somebody asks after an outage who led when, and why nobody did. Each replica has its own story.
func TestEachTurnOfAnElectionIsRecordedWithItsReason(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(s *stand, with func(*LeaderElectionConfig))
		want []string // of the replica a
	}{
		{"a follower hears of each leader", func(s *stand, with func(*LeaderElectionConfig)) {
			first := s.join("first", withRelease)
			<-first.started
			a := s.join("a", with)
			time.Sleep(time.Minute)
			s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 1,
				Status: fakeapi.Conflict()})
			s.end(first)
			<-a.started
			s.end(a)
		}, []string{
			"observed: first leads", "observed: nobody leads",
			"failed writing the lock", "acquired: it was released",
		}},
		{"a leader that is gone is waited for", func(s *stand, with func(*LeaderElectionConfig)) {
			first := s.join("first")
			<-first.started
			a := s.join("a", with)
			time.Sleep(time.Minute)
			s.end(first)
			<-a.started
			s.end(a)
		}, []string{"observed: first leads", `acquired: "first" has not renewed it for 15s`}},
		{"a lock that is gone has no leader", func(s *stand, with func(*LeaderElectionConfig)) {
			first := s.join("first")
			<-first.started
			a := s.join("a", with)
			time.Sleep(time.Minute)
			s.end(first)
			s.remove()
			<-a.started
			s.end(a)
		}, []string{"observed: first leads", "observed: nobody leads", "acquired: nobody has it"}},
		{"a lead that ends while an answer is on its way ends once",
			func(s *stand, with func(*LeaderElectionConfig)) {
				a := s.join("a", with, func(c *LeaderElectionConfig) { c.Lock = lateLock{c.Lock} })
				<-a.started
				require.ErrorIs(s, <-a.ended, ErrLost)
			}, []string{"acquired: nobody has it", "lost: it could not be renewed for 12s"}},
		{"a lock that was missing is claimed first",
			func(s *stand, with func(*LeaderElectionConfig)) {
				a := s.join("a", with, func(c *LeaderElectionConfig) { c.WaitForMissing = true })
				<-a.started
				s.end(a)
			}, []string{"claimed: it was missing, so whoever held it before gets 15s to stop",
				"acquired: whoever held it before has stopped by now"}},
		{"a claim may be lost", func(s *stand, with func(*LeaderElectionConfig)) {
			a := s.join("a", with, func(c *LeaderElectionConfig) { c.WaitForMissing = true })
			time.Sleep(5 * time.Second)
			s.patch(`{"spec":{"holderIdentity":"me"}}`)
			time.Sleep(5 * time.Second)
			s.end(a)
		}, []string{
			"claimed: it was missing, so whoever held it before gets 15s to stop",
			"failed writing the lock",
			"observed: me leads", "lost: the claim was not kept",
		}},
		{"the lead may be lost", func(s *stand, with func(*LeaderElectionConfig)) {
			a := s.join("a", with)
			<-a.started
			time.Sleep(time.Second)
			s.patch(`{"spec":{"holderIdentity":"me"}}`)
			require.ErrorIs(s, <-a.ended, ErrLost)
		}, []string{
			"acquired: nobody has it",
			"failed writing the lock",
			"observed: me leads", `lost: "me" has it`,
		}},
		{"a lock may be gone when it is released",
			func(s *stand, with func(*LeaderElectionConfig)) {
				a := s.join("a", with, withRelease)
				<-a.started
				time.Sleep(time.Second)
				s.remove()
				s.end(a)
			}, []string{
				"acquired: nobody has it",
				"failed writing the lock", "kept: it was not released: it was deleted",
			}},
		{"a release is told", func(s *stand, with func(*LeaderElectionConfig)) {
			a := s.join("a", with, withRelease)
			<-a.started
			s.end(a)
		}, []string{"acquired: nobody has it", "released: the work has ended"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(s *stand) {
				recorder := trace.New(0)
				c.play(s, func(c *LeaderElectionConfig) { c.Recorder = recorder })
				require.Equal(s, c.want, story(recorder, "a"))
			})
		})
	}
}

// Without a flight recorder there is the log.
func TestTheLogSaysWhoLeadsAndWhy(t *testing.T) {
	inBubble(t, func(s *stand) {
		var lines []string
		started := make(chan struct{})
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		elector, err := NewLeaderElector(LeaderElectionConfig{
			Lock: s.lock("a"), Name: "log", LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{OnStartedLeading: func(ctx context.Context) {
				close(started)
				<-ctx.Done()
			}, OnStoppedLeading: func() {}},
		})
		require.NoError(s, err)
		ended := make(chan error)
		go func() { ended <- elector.Elect(logr.NewContext(s.Context(), log)) }()
		<-started
		s.patch(`{"spec":{"holderIdentity":"me"}}`)
		require.ErrorIs(s, <-ended, ErrLost)
		require.Equal(s, []string{
			`"level"=0 "msg"="The lock was acquired" "lock"="default/it" "identity"="a" "reason"="nobody has it"`,
			`"level"=0 "msg"="The lock was observed" "lock"="default/it" "identity"="a" "reason"="me leads"`,
			`"level"=0 "msg"="The lock was lost" "lock"="default/it" "identity"="a" "reason"="\"me\" has it"`,
			`"msg"="Leader election has ended" "error"="leader election lost: \"me\" has it" "lock"="default/it" "identity"="a"`,
		}, lines)
	})
}

// namedLock is a user's own, whose name has no namespace.
type namedLock struct{ resourcelock.Interface }

func (namedLock) Describe() string { return "redis" }

func TestALockWithoutANamespaceIsRecordedByItsName(t *testing.T) {
	inBubble(t, func(s *stand) {
		recorder := trace.New(0)
		a := s.join("a", func(c *LeaderElectionConfig) {
			c.Recorder, c.Lock = recorder, namedLock{c.Lock}
		})
		<-a.started
		s.end(a)
		require.True(s, slices.ContainsFunc(recorder.Events(), func(e trace.Event) bool {
			return e.Op == "acquired" && e.Name == "redis" && e.Namespace == ""
		}))
	})
}

// A role without the right to leases is the mistake that people make most. A replica that says
// nothing looks as if it waited for another one.
func TestARefusedRequestIsInTheLogUntilItSucceeds(t *testing.T) {
	inBubble(t, func(s *stand) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		allow := s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases",
			Verb: "get"}, Status: fakeapi.Forbidden()})
		started := make(chan struct{})
		elector, err := NewLeaderElector(LeaderElectionConfig{
			Lock: s.lock("a"), Name: "log", LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{OnStartedLeading: func(ctx context.Context) {
				close(started)
				<-ctx.Done()
			}, OnStoppedLeading: func() {}},
		})
		require.NoError(s, err)
		ctx, stop := context.WithCancel(logr.NewContext(s.Context(), log))
		ended := make(chan error)
		go func() { ended <- elector.Elect(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(s, lines, 1, "once, and not at each try")
		require.Contains(s, lines[0], "A request to the lock failed")
		allow()
		<-started
		stop()
		require.NoError(s, <-ended)
	})
}

// A store that accepts an old token has no protection from a leader that was suspended.
func TestAnOldTokenIsRefused(t *testing.T) {
	newest := Fence{Identity: "b", Transitions: 4}
	var fenced *FencedError
	require.ErrorAs(t, Fence{Identity: "a", Transitions: 3}.Check(newest), &fenced)
	require.Equal(t, newest, fenced.Newest)
	require.ErrorAs(t, Fence{Identity: "a", Transitions: 4}.Check(newest), &fenced,
		"the same count by another name: somebody has tampered with the Lease, and the first "+
			"one wins")
	require.NoError(t, newest.Check(newest))
	require.NoError(t, Fence{Identity: "a", Transitions: 5}.Check(newest))
	require.NoError(t, Fence{Identity: "a"}.Check(Fence{}),
		"a store that has seen none accepts every token")
}

func TestAnObjectKeepsTheNewestToken(t *testing.T) {
	object := &metav1.ObjectMeta{Namespace: "shop", Name: "prices",
		Annotations: map[string]string{"other": "stays"}}
	shared := object.Annotations
	require.NoError(t, Fence{"a", 3}.Stamp(object))
	require.Equal(t, map[string]string{"other": "stays", FenceAnnotation: "3/a"},
		object.Annotations)
	require.NotContains(t, shared, FenceAnnotation, "the map may belong to a cache")
	require.NoError(t, Fence{"b", 4}.Stamp(object))
	require.EqualError(t, Fence{"a", 3}.Stamp(object),
		"writing shop/prices: the leader a of term 3 was replaced: b of term 4 has written")
	require.Equal(t, "4/b", object.Annotations[FenceAnnotation])
	object.Annotations[FenceAnnotation] = "nonsense"
	require.ErrorContains(t, Fence{"b", 4}.Stamp(object), `"nonsense" isn't a fencing token`)
}

func TestATokenIsReadAsItWasWritten(t *testing.T) {
	for _, fence := range []Fence{{"a", 0}, {"host_1/2", 17}} {
		read, err := ParseFence(fence.String())
		require.NoError(t, err)
		require.Equal(t, fence, read)
	}
	for _, text := range []string{"", "3", "3/", "x/a", "/a"} {
		_, err := ParseFence(text)
		require.ErrorContains(t, err, "isn't a fencing token", text)
	}
}

func TestOnlyTheContextOfALeaderHasAToken(t *testing.T) {
	_, found := FenceFrom(t.Context())
	require.False(t, found)
	fence, found := FenceFrom(WithFence(t.Context(), Fence{"a", 1}))
	require.True(t, found)
	require.Equal(t, Fence{"a", 1}, fence)
}
