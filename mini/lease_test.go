package mini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

var leadership = mini.Request{Namespace: "default", Name: "leader"}

// What an elector does whose fields are 0.
const retryPeriod, renewDeadline = 2 * time.Second, 10 * time.Second

// elector returns a process of its own: faults for this user agent hit no other.
func (w *world) elector(name string, change ...func(*rest.Config)) *mini.Elector {
	config := w.Server.Config()
	config.UserAgent = name
	for _, c := range change {
		c(config)
	}
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	require.NoError(w, err)
	return &mini.Elector{
		Client: &mini.Client{Cluster: cluster}, Lease: leadership, Identity: name,
	}
}

// term is one call of Elector.Run.
type term struct {
	stop    context.CancelCauseFunc
	working chan struct{}   // closed when work begins
	told    chan struct{}   // closed when the context of work ends
	ended   chan struct{}   // closed when work has ended
	over    chan struct{}   // closed when Run has returned
	err     error           // what Run has returned
	work    context.Context // of work
}

// lead runs the elector. Its work goes on until its context ends, and then for windDown.
func (w *world) lead(e *mini.Elector, windDown time.Duration) *term {
	return w.leadWith(e, func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(windDown)
		return nil
	})
}

func (w *world) leadWith(e *mini.Elector, work func(context.Context) error) *term {
	t := &term{
		working: make(chan struct{}), told: make(chan struct{}),
		ended: make(chan struct{}), over: make(chan struct{}),
	}
	var ctx context.Context
	ctx, t.stop = context.WithCancelCause(w.ctx)
	w.running.Go(func() {
		defer close(t.over)
		t.err = e.Run(ctx, func(ctx context.Context) error {
			t.work = ctx
			close(t.working)
			defer close(t.ended)
			context.AfterFunc(ctx, func() { close(t.told) })
			return work(ctx)
		})
	})
	return t
}

func happened(c chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// took waits for c, at most an hour, and returns how long that took.
func (w *world) took(c chan struct{}, what string) time.Duration {
	began := time.Now()
	select {
	case <-c:
	case <-time.After(time.Hour):
		require.Fail(w, "an hour has passed without this: "+what)
	}
	return time.Since(began)
}

func (w *world) lease() *coordinationv1.Lease {
	lease, err := w.Other.CoordinationV1().Leases("default").
		Get(w.ctx, "leader", metav1.GetOptions{})
	require.NoError(w, err)
	return lease
}

func (w *world) holder() string {
	if h := w.lease().Spec.HolderIdentity; h != nil {
		return *h
	}
	return ""
}

// hold makes a process that is not mini the holder.
func (w *world) hold(seconds int32, renewed time.Time) {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "leader"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("stranger"), LeaseDurationSeconds: &seconds,
			LeaseTransitions: new(int32(7)),
			RenewTime:        new(metav1.NewMicroTime(renewed)), AcquireTime: new(metav1.NewMicroTime(renewed)),
		},
	}
	leases := w.Other.CoordinationV1().Leases("default")
	_, err := leases.Create(w.ctx, lease, metav1.CreateOptions{})
	if err != nil {
		lease.ResourceVersion = w.lease().ResourceVersion
		_, err = leases.Update(w.ctx, lease, metav1.UpdateOptions{})
	}
	require.NoError(w, err)
}

// Two processes that work at once create everything twice.
func TestOneOfTwoProcessesWorksAndTheOtherWaits(t *testing.T) {
	inMemory(t, func(w *world) {
		a := w.lead(w.elector("a"), 0)
		require.Zero(w, w.took(a.working, "a works"), "no other process has the lease: why wait?")
		spec := w.lease().Spec
		require.Equal(w, "a", *spec.HolderIdentity)
		require.EqualValues(w, 15, *spec.LeaseDurationSeconds)
		require.EqualValues(w, 0, *spec.LeaseTransitions)
		require.NotNil(w, spec.AcquireTime)
		require.WithinDuration(w, time.Now(), spec.RenewTime.Time, time.Second)

		b := w.lead(w.elector("b"), 0)
		time.Sleep(3 * time.Minute)
		require.False(w, happened(b.working), "two processes work at the same time")
		require.False(w, happened(a.told), "a has lost the lease, but no other process has taken it")
		requests := func(match fakeapi.Match) int { return len(w.Server.Requests(match)) }
		require.InDelta(w, 90, requests(fakeapi.Match{Verb: "update", UserAgent: "a"}), 1, "a renews every 2 s")
		require.InDelta(w, 90, requests(fakeapi.Match{Verb: "get", UserAgent: "b"}), 1, "b tries every 2 s")
		now := w.lease().Spec
		require.WithinDuration(w, time.Now(), now.RenewTime.Time, 3*time.Second)
		require.Equal(w, spec.AcquireTime, now.AcquireTime, "a renewal isn't a new acquisition")
		require.EqualValues(w, 0, *now.LeaseTransitions)
	})
}

// Function: Elector.Run
func TestAProcessThatIsToldToStopBeforeItsTurnReturnsNil(t *testing.T) {
	inMemory(t, func(w *world) {
		w.lead(w.elector("a"), 0)
		synctest.Wait()
		b := w.lead(w.elector("b"), 0)
		time.Sleep(3 * time.Second)
		b.stop(errors.New("a signal"))
		require.Zero(w, w.took(b.over, "Run of b returns"))
		require.NoError(w, b.err)
		require.False(w, happened(b.working))
	})
}

func TestALeaseThatIsRenewedIsNotTakenWhateverItsHoldersClockShows(t *testing.T) {
	for name, clock := range inorder.Map(map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour}) {
		for _, seconds := range []int32{1, 15} {
			t.Run(fmt.Sprintf("%s, %d s", name, seconds), func(t *testing.T) {
				inMemory(t, func(w *world) {
					w.hold(seconds, time.Now().Add(clock))
					b := w.lead(w.elector("b"), 0)
					for range 50 {
						time.Sleep(900 * time.Millisecond)
						w.hold(seconds, time.Now().Add(clock))
						require.False(w, happened(b.working), "the holder still renews")
					}
				})
			})
		}
	}
}

// If it's taken too early, two processes work; if it's too late, none does.
func TestALeaseThatIsNotRenewedIsTakenWhenItsDurationIsOver(t *testing.T) {
	for name, clock := range inorder.Map(map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour}) {
		for _, seconds := range []int32{15, 60} {
			t.Run(fmt.Sprintf("%s, %d s", name, seconds), func(t *testing.T) {
				inMemory(t, func(w *world) {
					promise := time.Duration(seconds) * time.Second
					b := w.elector("b")
					b.RetryPeriod = time.Second
					w.hold(seconds, time.Now().Add(clock))
					term := w.lead(b, 0)
					took := w.took(term.working, "b works")
					require.GreaterOrEqual(w, took, promise,
						"b doesn't know when the lease was renewed, only when b first saw it")
					require.LessOrEqual(w, took, promise+b.RetryPeriod)
					spec := w.lease().Spec
					require.Equal(w, "b", *spec.HolderIdentity)
					require.EqualValues(w, 8, *spec.LeaseTransitions)
					require.WithinDuration(w, time.Now(), spec.AcquireTime.Time, time.Second)
					require.WithinDuration(w, time.Now(), spec.RenewTime.Time, time.Second)
					require.EqualValues(w, 15, *spec.LeaseDurationSeconds, "b writes its own duration")
					time.Sleep(time.Minute)
					require.False(w, happened(term.told), "b has the lease, but gives up")
				})
			})
		}
	}
}

// The holder says that it renews its lease every few seconds. A process that waits for its own, longer time leaves the work undone.
//
// Function: Elector.expired
func TestALeaseOfAShorterDurationIsTakenSooner(t *testing.T) {
	inMemory(t, func(w *world) {
		w.hold(5, time.Now())
		candidate := w.lead(w.elector("a"), 0)
		require.Equal(w, 6*time.Second, w.took(candidate.working, "the work"), "the first try after 5 s")
	})
}

// Function: Elector.expired
func TestALeaseWithoutADurationIsTakenAfterOurOwn(t *testing.T) {
	inMemory(t, func(w *world) {
		w.hold(1, time.Now())
		lease := w.lease()
		lease.Spec.LeaseDurationSeconds, lease.Spec.LeaseTransitions = nil, nil
		_, err := w.Other.CoordinationV1().Leases("default").Update(w.ctx, lease, metav1.UpdateOptions{})
		require.NoError(w, err)
		b := w.elector("b")
		b.LeaseDuration = 11*time.Second + time.Nanosecond
		took := w.took(w.lead(b, 0).working, "b works")
		require.GreaterOrEqual(w, took, b.LeaseDuration)
		require.LessOrEqual(w, took, b.LeaseDuration+retryPeriod)
		require.EqualValues(w, 12, *w.lease().Spec.LeaseDurationSeconds,
			"others may wait longer than b's duration, but not shorter")
	})
}

// In a network that fails now and then, no process would ever succeed a dead leader.
func TestAReadThatFailsDoesNotMakeTheWaitStartOver(t *testing.T) {
	inMemory(t, func(w *world) {
		w.hold(15, time.Now())
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get", UserAgent: "b"}, Skip: 4, Times: 1, Status: fakeapi.InternalError(),
		})
		took := w.took(w.lead(w.elector("b"), 0).working, "b works")
		require.LessOrEqual(w, took, 15*time.Second+retryPeriod)
	})
}

// A refused takeover hasn't renewed anything.
func TestAWriteThatFailsDoesNotMakeTheWaitStartOver(t *testing.T) {
	inMemory(t, func(w *world) {
		w.hold(15, time.Now())
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", UserAgent: "b"}, Times: 1, Status: fakeapi.InternalError(),
		})
		took := w.took(w.lead(w.elector("b"), 0).working, "b works")
		require.LessOrEqual(w, took, 15*time.Second+2*retryPeriod)
	})
}

func TestOfTwoProcessesThatFindNoLeaseOneWins(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, write := range []string{"create", "update"} {
			match := fakeapi.Match{Verb: write, Resource: "leases"}
			w.Server.Inject(fakeapi.Fault{Match: match, Times: 2, Delay: time.Second}) // both have read
		}
		a, b := w.lead(w.elector("a"), 0), w.lead(w.elector("b"), 0)
		time.Sleep(time.Minute)
		require.NotEqual(w, happened(a.working), happened(b.working), "one works, and the other waits")
	})
}

// Function: Elector.observe
func TestAChangeOfLabelsIsNotARenewal(t *testing.T) {
	inMemory(t, func(w *world) {
		w.hold(15, time.Now())
		b := w.lead(w.elector("b"), 0)
		for i := range 19 {
			time.Sleep(950 * time.Millisecond) // never at the moment of b's try
			lease := w.lease()
			lease.Labels = map[string]string{"i": fmt.Sprint(i)}
			// If b was faster, it has the lease already.
			_, _ = w.Other.CoordinationV1().Leases("default").
				Update(w.ctx, lease, metav1.UpdateOptions{})
		}
		require.True(w, happened(b.working), "the holder has not renewed for 18 s")
	})
}

func TestAStopHandsTheLeaseOverButOnlyAfterWorkHasEnded(t *testing.T) {
	inMemory(t, func(w *world) {
		first := w.elector("a")
		a := w.lead(first, time.Minute) // longer than the lease
		w.took(a.working, "a works")
		b := w.lead(w.elector("b"), 0)
		time.Sleep(time.Second)
		a.stop(errors.New("a signal"))
		synctest.Wait()
		require.True(w, happened(a.told))
		require.Equal(w, time.Minute, w.took(a.ended, "work of a ends"))
		require.False(w, happened(b.working), "b has begun before a has ended")
		require.LessOrEqual(w, w.took(b.working, "b works"), retryPeriod,
			"b waits for a lease to expire that a could have released")
		require.True(w, happened(a.over))
		require.NoError(w, a.err)
		require.Equal(w, "b", w.holder())
		require.EqualValues(w, 1, *w.lease().Spec.LeaseTransitions)
		b.stop(nil)
		w.took(b.over, "b is over")
		require.Empty(w, w.holder())
	})
}

func TestALeaderIsLeaderAgainAfterItsOwnRelease(t *testing.T) {
	inMemory(t, func(w *world) {
		e := w.elector("a")
		a := w.lead(e, 0)
		w.took(a.working, "a works")
		a.stop(nil)
		w.took(a.over, "a is over")
		time.Sleep(time.Hour)
		a = w.lead(e, 0)
		require.Zero(w, w.took(a.working, "a works again"))
		time.Sleep(time.Minute)
		require.False(w, happened(a.told), "the time before doesn't count")
	})
}

// Function: Elector.Run
func TestWorkThatEndsByItselfEndsTheTermAndReleasesTheLease(t *testing.T) {
	for _, result := range []error{nil, errors.New("no disk")} {
		inMemory(t, func(w *world) {
			a := w.leadWith(w.elector("a"), func(context.Context) error {
				time.Sleep(time.Minute)
				return result
			})
			require.Equal(w, time.Minute, w.took(a.over, "Run returns"))
			require.ErrorIs(w, a.err, result)
			require.Empty(w, w.holder())
			require.Error(w, a.work.Err(), "goroutines that work has left behind are told to stop")
		})
	}
}

// gone are the ways in which an API server can be gone.
var gone = map[string]fakeapi.Fault{
	"refuses connections": {Refuse: true},
	"does not answer":     {Hang: true},
	"answers 503":         {Status: fakeapi.Unavailable()},
}

// The API server cannot tell a leader that it has lost the lease if the network is cut.
//
// Function: Elector.renew
func TestALeaderThatCannotRenewEndsItsWorkBeforeAnyOtherProcessMayBegin(t *testing.T) {
	for name, fault := range gone {
		t.Run(name, func(t *testing.T) {
			for _, retry := range []time.Duration{time.Second, 2 * time.Second, 9 * time.Second} {
				inMemory(t, func(w *world) {
					first, second := w.elector("a"), w.elector("b")
					first.RetryPeriod, first.RenewDeadline, first.LeaseDuration = retry, 10*time.Second, 11*time.Second
					second.RetryPeriod = 250 * time.Millisecond
					a := w.lead(first, 900*time.Millisecond)
					w.took(a.working, "a works")
					b := w.lead(second, 0)
					time.Sleep(30500 * time.Millisecond)
					fault.Match.UserAgent = "a"
					w.Server.Inject(fault)
					require.LessOrEqual(w, w.took(a.told, "a gives up"), first.RenewDeadline)
					require.ErrorIs(w, context.Cause(a.work), mini.ErrLeaseLost, "work learns why it ends")
					w.took(a.ended, "work of a ends")
					require.False(w, happened(b.working), "b has begun before a has ended")
					w.took(b.working, "b works")
					w.took(a.over, "Run of a returns")
					require.ErrorIs(w, a.err, mini.ErrLeaseLost)
				})
			}
		})
	}
}

// Function: Elector.renew
func TestAShortOutageCostsNothing(t *testing.T) {
	for name, fault := range gone {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				e := w.elector("a")
				e.RenewDeadline, e.LeaseDuration, e.RetryPeriod = 20*time.Second, 25*time.Second, time.Second
				if fault.Hang { // a try that hangs ends when the connection does
					fault = fakeapi.Fault{Delay: 7 * time.Second}
				}
				a := w.lead(e, 0)
				w.took(a.working, "a works")
				for range 3 {
					heal := w.Server.Inject(fault)
					time.Sleep(8 * time.Second)
					heal()
					time.Sleep(8 * time.Second)
					require.False(w, happened(a.told), "a could have renewed in time, but has given up")
				}
			})
		})
	}
}

func TestALostAnswerIsNotALostLease(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, LoseResponse: true, Times: 1})
		e := w.elector("a")
		a := w.lead(e, 0)
		require.LessOrEqual(w, w.took(a.working, "a works"), 15*time.Second,
			"the API server has made a the leader; only the answer was lost")
		for range 3 {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "update"}, LoseResponse: true, Times: 2,
			})
			time.Sleep(15 * time.Second)
			require.False(w, happened(a.told), "the lease was renewed each time")
		}
	})
}

// A conflict says that another write was faster. It doesn't say who leads.
func TestAConflictIsTriedAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		a := w.lead(w.elector("a"), 0)
		w.took(a.working, "a works")
		for range 3 {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Conflict(), Times: 2,
			})
			time.Sleep(15 * time.Second)
			require.False(w, happened(a.told))
		}
		// Also at the release: a renewal may have been on its way.
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Conflict(), Times: 1,
		})
		a.stop(nil)
		w.took(a.over, "Run returns")
		require.NoError(w, a.err)
		require.Empty(w, w.holder())
	})
}

// Function: Elector.Run
func TestALeaderWhoseLeaseAnotherProcessHasTakenEndsAndLeavesItAlone(t *testing.T) {
	inMemory(t, func(w *world) {
		broken := errors.New("half done")
		e := w.elector("a")
		a := w.leadWith(e, func(ctx context.Context) error {
			<-ctx.Done()
			return broken
		})
		w.took(a.working, "a works")
		time.Sleep(time.Second)
		w.hold(15, time.Now())
		require.LessOrEqual(w, w.took(a.told, "work is told to stop"), retryPeriod)
		w.took(a.over, "Run returns")
		require.ErrorIs(w, a.err, mini.ErrLeaseLost)
		require.ErrorIs(w, a.err, broken, "work's own error is just as important")
		require.Equal(w, "stranger", w.holder())
	})
}

// Function: Elector.release
func TestALeaseThatIsTakenWhileWorkIsEndingIsNotReleased(t *testing.T) {
	inMemory(t, func(w *world) {
		a := w.lead(w.elector("a"), 3*time.Second)
		w.took(a.working, "a works")
		a.stop(nil)
		synctest.Wait()
		w.hold(15, time.Now())
		w.took(a.over, "Run returns")
		require.NoError(w, a.err, "a was told to stop, and stopped")
		require.Equal(w, "stranger", w.holder(), "a has released the lease of another process")
	})
}

// Another process has taken the lease since the last renewal, and this one is told to stop before it notices. If it released the
// lease, a third process would begin beside the second.
//
// Function: Elector.release
func TestALeaseThatWasTakenSinceTheLastRenewalIsNotReleased(t *testing.T) {
	inMemory(t, func(w *world) {
		leader := w.lead(w.elector("a"), 0)
		w.took(leader.working, "the work")
		time.Sleep(2*retryPeriod + retryPeriod/2)
		w.hold(15, time.Now())
		leader.stop(nil)
		w.took(leader.over, "the end of Run")
		require.NoError(w, leader.err)
		require.Equal(w, "stranger", w.holder())
	})
}

// A user has labelled the lease, so that a dashboard finds it. A renewal is an update, and an update replaces everything.
//
// Function: Elector.tryAcquireOrRenew
func TestARenewalKeepsTheLabelsOfTheLease(t *testing.T) {
	inMemory(t, func(w *world) {
		leader := w.lead(w.elector("a"), 0)
		w.took(leader.working, "the work")
		lease := w.lease()
		lease.Labels = map[string]string{"team": "red"}
		_, err := w.Other.CoordinationV1().Leases("default").Update(w.ctx, lease, metav1.UpdateOptions{})
		require.NoError(w, err)
		time.Sleep(5 * retryPeriod)
		require.False(w, happened(leader.told), "a label is no reason to stop")
		require.Equal(w, "red", w.lease().Labels["team"])
	})
}

// Function: Elector.tryAcquireOrRenew
func TestALeaseThatIsDeletedUnderTheLeaderDoesNotMakeTwoLeaders(t *testing.T) {
	inMemory(t, func(w *world) {
		first, second := w.elector("a"), w.elector("b")
		second.RetryPeriod = 300 * time.Millisecond
		a := w.lead(first, 0)
		w.took(a.working, "a works")
		b := w.lead(second, 0)
		time.Sleep(time.Minute)
		for range 3 {
			err := w.Other.CoordinationV1().Leases("default").Delete(w.ctx, "leader", metav1.DeleteOptions{})
			require.NoError(w, err)
			time.Sleep(5 * time.Second)
			require.Equal(w, "a", w.holder())
			require.False(w, happened(a.told), "a can create the lease again")
			require.False(w, happened(b.working), "b saw a renew the lease a moment ago")
		}
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "a"}, Refuse: true})
		err := w.Other.CoordinationV1().Leases("default").Delete(w.ctx, "leader", metav1.DeleteOptions{})
		require.NoError(w, err)
		w.took(a.ended, "a gives up")
		require.False(w, happened(b.working))
		w.took(b.working, "b creates the lease")
	})
}

// The caveat says how long: the two overlap until the holder's next renewal.
func TestAProcessThatHasNeverSeenTheHolderOfADeletedLeaseOverlapsUntilItsNextRenewal(t *testing.T) {
	inMemory(t, func(w *world) {
		a := w.lead(w.elector("a"), 0)
		w.took(a.working, "a works")
		time.Sleep(time.Minute + time.Second)
		err := w.Other.CoordinationV1().Leases("default").Delete(w.ctx, "leader", metav1.DeleteOptions{})
		require.NoError(w, err)
		b := w.lead(w.elector("b"), 0)
		w.took(b.working, "b works")
		require.False(w, happened(a.told), "if it knows already, the caveat can go")
		require.LessOrEqual(w, w.took(a.ended, "a has ended"), retryPeriod)
		w.took(a.over, "Run returns")
		require.ErrorIs(w, a.err, mini.ErrLeaseLost)
		require.Equal(w, "b", w.holder())
	})
}

// A proxy that loses its API servers would make two leaders, or none.
func TestA404PageIsNotAMissingLease(t *testing.T) {
	for what, answer := range inorder.Map(notFoundPages) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				var lost atomic.Bool
				behind := func(config *rest.Config) {
					config.Wrap(func(next http.RoundTripper) http.RoundTripper {
						return proxied(func(r *http.Request) (*http.Response, error) {
							response, err := next.RoundTrip(r)
							if err == nil && r.Method == http.MethodGet && lost.Load() {
								answer(response)
							}
							return response, err
						})
					})
				}
				a := w.lead(w.elector("a", behind), 0)
				w.took(a.working, "a works")
				lost.Store(true)
				b := w.lead(w.elector("b", behind), 0)
				time.Sleep(5 * time.Second)
				require.False(w, happened(a.told), "a short outage costs nothing")
				require.LessOrEqual(w, w.took(a.ended, "a gives up"), renewDeadline)
				require.False(w, happened(b.working))
				time.Sleep(time.Minute)
				require.False(w, happened(b.working), "a page doesn't say whether there's a lease")
				lost.Store(false)
				w.took(b.working, "b works")
			})
		})
	}
}

// Function: Elector.release
func TestReleasingADeletedLeaseIsNotAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		a := w.lead(w.elector("a"), 0)
		w.took(a.working, "a works")
		err := w.Other.CoordinationV1().Leases("default").Delete(w.ctx, "leader", metav1.DeleteOptions{})
		require.NoError(w, err)
		a.stop(nil)
		w.took(a.over, "Run returns")
		require.NoError(w, a.err)
	})
}

// Function: Elector.release
func TestAStopWithoutAnAPIServerDoesNotTakeForever(t *testing.T) {
	for name, fault := range gone {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				e := w.elector("a")
				a := w.lead(e, 0)
				w.took(a.working, "a works")
				w.Server.Inject(fault)
				a.stop(nil)
				require.LessOrEqual(w, w.took(a.over, "Run returns"), renewDeadline)
				require.Error(w, a.err, "the lease is not released: the next process has to wait")
			})
		})
	}
}

// Function: Elector.Run
func TestAnElectorThatCannotBeSafeRefusesToRun(t *testing.T) {
	for name, change := range inorder.Map(map[string]func(*mini.Elector){
		"gives up when the others begin": func(e *mini.Elector) { e.RenewDeadline = 15 * time.Second },
		"gives up after the others":      func(e *mini.Elector) { e.LeaseDuration = 5 * time.Second },
		"has one try":                    func(e *mini.Elector) { e.RetryPeriod = 10 * time.Second },
		"has one try in time":            func(e *mini.Elector) { e.RenewDeadline = retryPeriod },
		"has no identity":                func(e *mini.Elector) { e.Identity = "" },
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				e := w.elector("a")
				change(e)
				a := w.lead(e, 0)
				require.Zero(w, w.took(a.over, "Run returns"))
				require.Error(w, a.err)
				require.False(w, happened(a.working))
				require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "create", Resource: "leases"}))
			})
		})
	}
}

func TestTheFlightRecorderShowsTheLease(t *testing.T) {
	inMemory(t, func(w *world) {
		e := w.elector("a")
		recorder := trace.New(0)
		e.Client.Cluster.Trace = recorder
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get"}, Status: fakeapi.Forbidden(), Times: 1,
		})
		a := w.lead(e, 0)
		w.took(a.working, "a works, after a read that is refused")
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Forbidden(), Times: 1,
		})
		time.Sleep(3 * time.Second) // one renewal is refused
		a.stop(nil)
		w.took(a.over, "Run returns")
		a = w.lead(e, 0)
		w.took(a.working, "a works again")
		w.hold(15, time.Now())
		w.took(a.over, "a has lost the lease")
		a = w.lead(e, 0)
		w.took(a.working, "the other process has not renewed")
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Forbidden()})
		a.stop(nil) // and the release is refused
		w.took(a.over, "Run returns")
		var got []string
		for _, event := range recorder.Events() {
			if event.Kind == trace.Lease || event.Kind == trace.Error {
				got = append(got, fmt.Sprint(event.Kind, " ", event.Op, " ", event.Namespace, "/", event.Name))
				require.NotEmpty(w, event.Reason, "who, or why")
			}
		}
		require.Equal(w, []string{
			"error  default/leader", "lease acquired default/leader",
			"error  default/leader", "lease released default/leader",
			"lease acquired default/leader", "lease lost default/leader",
			"lease acquired default/leader",
		}, got)
	})
}

// network is a bad one: it holds requests and answers back, and loses some.
type network struct {
	http.RoundTripper
	w       *world
	trouble func(*http.Request) (before, after time.Duration, loseRequest, loseAnswer bool)
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	var body string
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	before, after, loseRequest, loseAnswer := n.trouble(req)
	type answer struct {
		*http.Response
		error
	}
	answers := make(chan answer, 1)
	// It goes on when the client has given up: the API server gets the request late.
	n.w.running.Go(func() {
		time.Sleep(before)
		if loseRequest {
			answers <- answer{nil, io.ErrUnexpectedEOF}
			return
		}
		late := req.Clone(context.Background())
		late.Body = io.NopCloser(strings.NewReader(body))
		response, err := n.RoundTripper.RoundTrip(late)
		if err == nil {
			data, _ := io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(strings.NewReader(string(data)))
		}
		time.Sleep(after)
		if loseAnswer {
			response, err = nil, io.ErrUnexpectedEOF
		}
		answers <- answer{response, err}
	})
	select {
	case a := <-answers:
		return a.Response, a.error
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func TestALateAnswerDoesNotMakeTheLeasesTimeLonger(t *testing.T) {
	inMemory(t, func(w *world) {
		var hang atomic.Bool
		a := w.lead(w.elector("a", func(config *rest.Config) {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return &network{next, w, func(*http.Request) (before, after time.Duration, loseRequest, loseAnswer bool) {
					if hang.Load() {
						return 0, 0, true, false
					}
					return 0, 4900 * time.Millisecond, false, false // one to read, one to write
				}}
			})
		}), 0)
		second := w.elector("b")
		second.RetryPeriod = 100 * time.Millisecond
		time.Sleep(5 * time.Second) // the API server has just created the lease
		b := w.lead(second, 0)
		w.took(a.working, "a works")
		require.False(w, happened(b.working))
		hang.Store(true)
		w.took(a.ended, "a gives up")
		require.False(w, happened(b.working), "b counts from when it saw the lease")
		w.took(b.working, "b works")
	})
}

// The others count from when they see the lease, which may be as soon as it's stored. A leader that counts from the answer,
// which took nine seconds, still works when another one has begun.
//
// Function: Elector.Run
func TestALeadersTimeCountsFromTheBeginningOfItsFirstTry(t *testing.T) {
	inMemory(t, func(w *world) {
		var written atomic.Bool
		a := w.lead(w.elector("a", func(config *rest.Config) {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return &network{next, w, func(req *http.Request) (before, after time.Duration, loseRequest, loseAnswer bool) {
					switch {
					case written.Load():
						return 0, 0, true, false
					case req.Method != http.MethodGet:
						written.Store(true)
						return 0, 9 * time.Second, false, false
					}
					return 0, 0, false, false
				}}
			})
		}), 0)
		second := w.elector("b")
		second.RetryPeriod = 100 * time.Millisecond
		time.Sleep(time.Second) // the API server has just created the lease
		b := w.lead(second, 0)
		require.Equal(w, 8*time.Second, w.took(a.working, "a works"))
		require.Equal(w, time.Second, w.took(a.ended, "a gives up"), "10 s after its try has begun")
		require.False(w, happened(b.working), "b has begun before a has ended")
		w.took(b.working, "b works")
	})
}

func TestTwoProcessesNeverWorkAtTheSameTime(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inMemory(t, func(w *world) {
				var working, terms atomic.Int32
				for i := range uint64(3) {
					name := string(rune('a' + i))
					random := rand.New(rand.NewPCG(seed, i))
					unlucky := func(part float64) bool { return random.Float64() < part }
					var mu sync.Mutex // guards random and bad
					bad := false      // for some time
					within := func(seconds int) time.Duration {
						mu.Lock()
						defer mu.Unlock()
						return time.Duration(random.IntN(seconds)) * time.Second
					}
					e := w.elector(name, func(config *rest.Config) {
						config.Wrap(func(next http.RoundTripper) http.RoundTripper {
							return &network{next, w, func(*http.Request) (before, after time.Duration, loseRequest, loseAnswer bool) {
								mu.Lock()
								defer mu.Unlock()
								if unlucky(0.1) {
									bad = !bad
								}
								if !bad {
									return 0, 0, false, false
								}
								pause := func() time.Duration {
									return time.Duration(random.ExpFloat64() * float64(4*time.Second))
								}
								return pause(), pause(), unlucky(0.2), unlucky(0.2)
							}}
						})
					})
					e.RetryPeriod = time.Duration(500+random.IntN(9000)) * time.Millisecond
					ended := func(ctx context.Context) error {
						terms.Add(1)
						if working.Add(1) > 1 {
							w.Errorf("at %s, %s works while another process does", time.Now(), name)
						}
						defer working.Add(-1)
						select {
						case <-ctx.Done():
							time.Sleep(4900 * time.Millisecond)
						case <-time.After(within(120)):
						}
						return nil
					}
					w.run(func(ctx context.Context) error {
						wait.UntilWithContext(ctx, func(ctx context.Context) {
							ctx, cancel := context.WithTimeout(ctx, within(200))
							defer cancel()
							_ = e.Run(ctx, ended)
						}, time.Second)
						return nil
					})
				}
				time.Sleep(15 * time.Minute)
				require.Greater(w, int(terms.Load()), 5, "they don't work at all")
			})
		})
	}
}
