package recorder

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func TestAServerThatIsAwayForAWhileGetsTheEventLater(t *testing.T) {
	for name, fault := range map[string]fakeapi.Fault{
		"refuses connections":             {Refuse: true, Times: 5},
		"has too much to do":              {Status: fakeapi.TooManyRequests(0), Times: 100},
		"hangs":                           {Hang: true, Times: 3},
		"is behind a proxy that says 404": {Status: proxys404(), Times: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) {
				fault.Match = fakeapi.Match{Group: "events.k8s.io", Verb: "create"}
				lift := w.server.Inject(fault)
				r := w.GetEventRecorder("websites")
				r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
				time.Sleep(40 * time.Second)
				lift()
				time.Sleep(time.Minute)
				require.Equal(t, []string{"Warning Failed Create a no room"}, w.written("default"))
			})
		})
	}
}

// A webhook that hangs for the events of one namespace would silence the whole program: the events
// of a dozen broken objects there take two minutes, ten seconds each.
func TestANamespaceWhoseWritesHangHoldsUpNoOther(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		_, err := w.client.CoreV1().Namespaces().Create(w.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		w.server.Inject(fakeapi.Fault{Hang: true,
			Match: fakeapi.Match{Group: "events.k8s.io", Namespace: "default"}})
		r := w.GetEventRecorder("websites")
		for i := range 12 {
			r.Eventf(pod(fmt.Sprint("a", i)), nil, "Warning", "Failed", "Create", "no room")
		}
		time.Sleep(time.Second)
		theirs := pod("b")
		theirs.Namespace = "other"
		r.Eventf(theirs, nil, "Normal", "Scaled", "Scale", "all is well")
		time.Sleep(time.Second)
		require.Equal(t, []string{"Normal Scaled Scale b all is well"}, w.written("other"))
	})
}

// The last events say why a program ends. One that hangs would have taken the time of all others.
func TestAnEventThatHangsAtTheEndCostsNoOther(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorder("websites")
		w.server.Inject(fakeapi.Fault{Hang: true, Times: 1,
			Match: fakeapi.Match{Group: "events.k8s.io", Verb: "create"}})
		want := make([]string, 20)
		for i := range want {
			if i == 1 { // the first one hangs, and the others wait behind it
				time.Sleep(time.Second)
			}
			r.Eventf(pod(fmt.Sprintf("a%02d", i)), nil, "Normal", "Ended", "End", "good-bye")
			want[i] = fmt.Sprintf("Normal Ended End a%02d good-bye", i)
		}
		synctest.Wait() // until they do
		require.NoError(t, w.ends())
		require.Equal(t, want[1:], w.written("default"))
	})
}

// A write may end just when there seems to be nothing left, and leave a count to write. It would be
// lost.
func TestTheEndWaitsForWhatAWriteHasLeft(t *testing.T) {
	w := newWriter(nil, nil, Options{})
	require.False(t, w.awaitWrite(t.Context()), "nothing was ever recorded")
	w.correlator.observe(currentAPI, occurrence("a", "n"), epoch)
	require.True(t, w.awaitWrite(t.Context()), "no write is under way, and one is due")
	_, due := w.correlator.take(epoch)
	require.True(t, due)
	w.wakeUp()
	require.True(t, w.awaitWrite(t.Context()), "a write that was under way has ended")
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, w.awaitWrite(cut), "the time is over, and the write hangs")
}

// proxys404 is a 404 that isn't the API server's.
func proxys404() *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"}}}}
}

// An event that's counted twice as two is one that nobody can trust.
func TestAProxys404ForAnEventDoesNotMakeASecondOne(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorder("websites")
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
		time.Sleep(time.Minute)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io", Verb: "patch"},
			Status: proxys404(), Times: 1})
		for range 3 {
			r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
			time.Sleep(10 * time.Minute)
		}
		require.Len(t, w.written("default"), 1)
	})
}

func TestALostAnswerDoesNotMakeASecondEvent(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io", Verb: "create"},
			LoseResponse: true, Times: 1})
		r := w.GetEventRecorder("websites")
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
		time.Sleep(time.Minute)
		require.Len(t, w.written("default"), 1)
		w.requests()
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
		require.Equal(t, []string{"patch"}, w.requests(),
			"the writer knows that the event is there")
	})
}

// Two replicas that write about one object at the same nanosecond choose the same name.
func TestANameThatIsTakenIsReplaced(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		taken := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: eventName("a",
			time.Now().UnixNano())}, Regarding: corev1.ObjectReference{Name: "somebody else's"}}
		_, err := w.client.EventsV1().Events("default").Create(w.Context(), taken,
			metav1.CreateOptions{})
		require.NoError(t, err)
		w.GetEventRecorder("websites").Eventf(pod("a"), nil, "Normal", "Scaled", "Scale", "mine")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"   somebody else's ", "Normal Scaled Scale a mine"},
			w.written("default"))
	})
}

func TestWhatCannotBeWrittenIsLoggedAndCounted(t *testing.T) {
	forbidden := metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: "you may not"}
	for name, c := range map[string]struct {
		fault  fakeapi.Fault
		about  *corev1.Pod
		reason string
		log    string
		wait   time.Duration
	}{
		"a missing permission": {fakeapi.Fault{Status: &forbidden}, pod("a"), lostRefused,
			"apiGroups [events.k8s.io], resources [events], verbs [create, patch]", 0},
		"a server that stays away": {fakeapi.Fault{Refuse: true}, pod("a"), lostUnreachable,
			"could not be written", 10 * time.Minute},
		"nothing": {fakeapi.Fault{}, nil, lostInvalid, "it is nil", 0},
		"a namespace that is gone": {fakeapi.Fault{},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "gone", Name: "a"}}, lostRefused,
			"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) {
				c.fault.Match = fakeapi.Match{Group: "events.k8s.io", Verb: "create"}
				if c.fault.Refuse || c.fault.Status != nil {
					w.server.Inject(c.fault)
				}
				before := lostFor(t, c.reason)
				w.GetEventRecorder("websites").Eventf(c.about, nil, "Normal", "Scaled", "Scale",
					"mine")
				time.Sleep(c.wait)
				synctest.Wait()
				require.Equal(t, before+1, lostFor(t, c.reason))
				if c.log == "" {
					require.Empty(t, w.logged(), "nobody needs to hear of it")
				} else {
					require.Contains(t, w.logged(), c.log)
				}
			})
		})
	}
}

// Reconcilers must go on when the server does not.
func TestARecorderNeverWaits(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io"}, Hang: true})
		lost := lostFor(t, lostFull)
		began := time.Now()
		for n := range maxSeries + 100 {
			w.GetEventRecorder("websites").Eventf(pod(fmt.Sprint(n)), nil, "Normal", "Scaled",
				"Scale", "mine")
		}
		require.Equal(t, began, time.Now())
		require.Equal(t, lost+100, lostFor(t, lostFull))
		require.Equal(t, 1, strings.Count(w.logged(), "Events were lost"),
			"a flood of events is no flood of log lines")
	})
}

func TestAtTheEndWhatIsLeftIsWritten(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorder("websites")
		for range 5 {
			r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
			synctest.Wait()
		}
		require.Equal(t, []string{"Warning Failed Create a no room x2"}, w.written("default"))
		r.Eventf(pod("b"), nil, "Normal", "Stopped", "Stop", "bye")
		began := time.Now()
		require.NoError(t, w.ends())
		require.Equal(t, began, time.Now(), "a process that has written all need not wait")
		require.Equal(t, []string{"Warning Failed Create a no room x5",
			"Normal Stopped Stop b bye"}, w.written("default"))
		lost := lostFor(t, lostStopped)
		r.Eventf(pod("c"), nil, "Normal", "Stopped", "Stop", "too late")
		require.Equal(t, lost+1, lostFor(t, lostStopped))
	})
}

func TestTheEndIsBounded(t *testing.T) {
	inWorld(t, Options{DrainTimeout: 3 * time.Second}, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io"}, Hang: true})
		for n := range 10 {
			w.GetEventRecorder("websites").Eventf(pod(fmt.Sprint(n)), nil, "Normal", "Scaled",
				"Scale", "mine")
		}
		synctest.Wait()
		began, stopped, unreachable := time.Now(), lostFor(t, lostStopped), lostFor(t,
			lostUnreachable)
		require.NoError(t, w.ends())
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, stopped+10, lostFor(t, lostStopped))
		require.Equal(t, unreachable, lostFor(t, lostUnreachable), "they were not tried any more")
		require.Equal(t, 1, strings.Count(w.logged(), "lost"), "one line for all of them")
	})
}

// A manager gives all that it runs some time to end. Whoever sets no time for the events has not
// asked for a long one.
func TestTheEndIsBoundedByDefault(t *testing.T) {
	for _, c := range []struct{ timeout, takes time.Duration }{{0, 5 * time.Second},
		{-1, 5 * time.Second}, {1, 1}} {
		inWorld(t, Options{DrainTimeout: c.timeout}, func(w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io"}, Hang: true})
			w.GetEventRecorder("websites").Eventf(pod("a"), nil, "Normal", "Scaled", "Scale",
				"mine")
			synctest.Wait()
			began := time.Now()
			require.NoError(t, w.ends())
			require.Equal(t, c.takes, time.Since(began))
		})
	}
}

// With client-go, nothing says why there are no events from a controller whose name the server does
// not take.
func TestANameThatTheServerWillRefuseIsLoggedAtOnce(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.GetEventRecorder("shop.example.com/websites")
		require.Empty(t, w.logged())
		w.GetEventRecorder("web sites")
		require.Contains(t, w.logged(), `"name"="web sites"`)
	})
}

// value is an object of a user's own that is no pointer.
type value struct{ corev1.Pod }

func (v value) DeepCopyObject() runtime.Object   { return v }
func (v value) GetObjectKind() schema.ObjectKind { return v.Pod.GetObjectKind() }

func TestAnObjectThatIsNoPointerIsAnErrorInTheLog(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.GetEventRecorder("websites").Eventf(value{}, nil, "Normal", "Scaled", "Scale", "mine")
		require.Contains(t, w.logged(), "An event cannot be recorded")
	})
}
