package leaderelection

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// stranger answers in place of the API server, while it's on.
type stranger struct {
	http.RoundTripper
	on     func() bool
	answer func(*http.Request) (code int, body string)
}

func (s stranger) RoundTrip(request *http.Request) (*http.Response, error) {
	if !s.on() {
		return s.RoundTripper.RoundTrip(request)
	}
	code, body := s.answer(request)
	return fakeapi.Answer(request, code, "application/json", body), nil
}

// behind makes a lock whose requests pass a stranger.
func (s *stand) behind(
	identity string, on func() bool, answer func(*http.Request) (int, string),
) func(*LeaderElectionConfig) {
	return func(c *LeaderElectionConfig) {
		config := s.server.Config()
		config.UserAgent = identity
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return stranger{next, on, answer}
		})
		lock := s.lock(identity)
		lock.Client = kubernetes.NewForConfigOrDie(config).CoordinationV1()
		c.Lock = lock
	}
}

func yes(*http.Request) (int, string) { return http.StatusOK, "{}" }

// A proxy in front of one replica has lost its route to the API server, and says that there's no
// Lease, and then that one was created.
func TestAProxyThatSaysYesToEveryWriteMakesNoSecondLeader(t *testing.T) {
	for name, read := range map[string]func(*http.Request) (int, string){
		"and that the Lease is there": yes,
		"and that there is none": func(*http.Request) (int, string) {
			return http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure",` +
				`"reason":"NotFound","code":404,"details":{"name":"it","kind":"leases",` +
				`"group":"coordination.k8s.io"}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s *stand) {
				a := s.join("a")
				<-a.started
				b := s.join("b", s.behind("b", func() bool { return true },
					func(r *http.Request) (int, string) {
						if r.Method == http.MethodGet {
							return read(r)
						}
						return yes(r)
					}))
				time.Sleep(time.Minute)
				require.Empty(t, b.started, "two replicas work")
				require.True(t, a.IsLeader())
				s.end(b, a)
			})
		})
	}
}

type kept struct {
	header http.Header
	body   []byte
}

// cache answers a write with what the server said to the last one, once it's cut off.
type cache struct {
	http.RoundTripper
	cut  *atomic.Bool
	last *kept // the answer to the last write; the elector sends one request at a time
}

func (c cache) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.cut.Load() && request.Method == http.MethodPut {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "OK", Request: request, Header: c.last.header,
			Body: io.NopCloser(bytes.NewReader(c.last.body)), ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
	answer, err := c.RoundTripper.RoundTrip(request)
	if err == nil && request.Method == http.MethodPut {
		c.last.header = answer.Header.Clone()
		c.last.body, err = io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(c.last.body))
	}
	return answer, err
}

// A proxy in front of the leader answers each renewal as the server answered the last one. It has
// the leader's name in it, and still nobody else has seen a renewal.
func TestAnAnswerThatIsRepeatedIsNoRenewal(t *testing.T) {
	inBubble(t, func(s *stand) {
		var cut atomic.Bool
		a := s.join("a", func(c *LeaderElectionConfig) {
			config := s.server.Config()
			config.UserAgent = "a"
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return cache{next, &cut, &kept{}}
			})
			lock := s.lock("a")
			lock.Client = kubernetes.NewForConfigOrDie(config).CoordinationV1()
			c.Lock = lock
		})
		work := <-a.started
		b := s.join("b")
		time.Sleep(time.Minute)
		require.NoError(t, work.Err())
		cut.Store(true)
		<-b.started
		require.Error(t, work.Err(), "two replicas work")
		require.ErrorIs(t, <-a.ended, ErrLost)
		s.end(b)
	})
}

// The answers of a proxy are no reason to restart the leader: the lock is still its own.
func TestALeaderThatReadsSomethingElseThanItsLeaseGoesOn(t *testing.T) {
	inBubble(t, func(s *stand) {
		from := time.Now().Add(time.Minute)
		away := func() bool {
			return time.Since(from) >= 0 && time.Since(from) < worldTiming.renew/2
		}
		a := s.join("a", s.behind("a", away, yes))
		work := <-a.started
		time.Sleep(2 * time.Minute)
		require.NoError(t, work.Err())
		require.Equal(t, "a", *s.lease().HolderIdentity)
		s.end(a)
	})
}

// The holder has the old configuration of a rollout, with longer times, and a broken network when
// somebody deletes the Lease. The new replica knows how long that holder may go on: it was in the
// Lease that the new replica has seen.
func TestTheOneThatMakesALockAgainWaitsAsLongAsItsLastHolderMayWork(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", func(c *LeaderElectionConfig) {
			c.WaitForMissing = true
			c.LeaseDuration, c.RenewDeadline = time.Minute, 50*time.Second
		})
		work := <-a.started
		b := s.join("b", func(c *LeaderElectionConfig) { c.WaitForMissing = true })
		time.Sleep(10 * time.Second)
		lift := s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true})
		defer lift()
		require.NoError(t, s.clients.CoordinationV1().Leases("default").Delete(s.Context(), "it",
			metav1.DeleteOptions{}))
		<-work.Done()
		require.Empty(t, b.started, "two replicas work")
		<-b.started
		require.ErrorIs(t, <-a.ended, ErrLost)
		s.end(b)
	})
}

// A second process was given the name of the first. It reads a record that it might have written.
func TestARecordOfOurNameThatAnotherProcessWroteIsNotOurs(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("same")
		<-a.started
		again := s.join("same")
		time.Sleep(5 * time.Minute)
		require.Empty(t, again.started, "two processes with one name work")
		s.end(again, a)
	})
}

// A backup from before the last change of leaders is restored, so the count of terms goes back. A
// store that has seen a newer token refuses the new leader, and never accepts two of one count.
func TestAfterARestoreOfAnOldLeaseNoTokenIsAcceptedForTwoLeaders(t *testing.T) {
	first, second := Fence{"a", 3}, Fence{"b", 3}
	object := &metav1.ObjectMeta{Name: "store"}
	require.NoError(t, first.Stamp(object))
	var fenced *FencedError
	require.ErrorAs(t, second.Stamp(object), &fenced)
	require.Equal(t, first.String(), object.Annotations[FenceAnnotation],
		"a refused stamp changes nothing")
	require.NoError(t, first.Stamp(object), "the one that was there first goes on")
	require.ErrorAs(t, Fence{"c", 2}.Stamp(object), &fenced)
	require.NoError(t, Fence{"b", 4}.Stamp(object))
	require.ErrorAs(t, first.Stamp(object), &fenced)
}

// The namespace of the Lease is deleted. Nobody can hold a lock that can't be written, so the
// leader stops in time, and says why.
func TestALeaderWhoseNamespaceGoesAwayStopsAtItsDeadline(t *testing.T) {
	inBubble(t, func(s *stand) {
		from := time.Now().Add(time.Minute)
		gone := func() bool { return time.Since(from) >= 0 }
		a := s.join("a", s.behind("a", gone, func(r *http.Request) (int, string) {
			if r.Method == http.MethodPost {
				return http.StatusForbidden, `{"kind":"Status","apiVersion":"v1",` +
					`"status":"Failure","reason":"Forbidden","code":403,"message":"unable to ` +
					`create new content in namespace default because it is being terminated",` +
					`"details":{"name":"it","kind":"leases","group":"coordination.k8s.io",` +
					`"causes":[{"reason":"NamespaceTerminating"}]}}`
			}
			return http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure",` +
				`"reason":"NotFound","code":404,"details":{"name":"it","kind":"leases",` +
				`"group":"coordination.k8s.io"}}`
		}))
		work := <-a.started
		<-work.Done()
		require.LessOrEqual(t, time.Since(from), worldTiming.renew)
		err := <-a.ended
		require.ErrorIs(t, err, ErrLost)
		require.False(t, a.IsLeader())
	})
}

// A volume that isn't filled yet must not put the lock of this replica elsewhere than that of the
// others.
func TestAnEmptyNamespaceFileIsAnErrorThatSaysWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	for _, content := range []string{"", "\n", " "} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		_, err := podNamespace(file)
		require.ErrorContains(t, err, "is empty; set LeaderElectionNamespace")
	}
}

// The API server is restored from a backup of a moment in which nobody had the lock. The leader of
// today can't reach it, and works until its deadline. Whoever has seen that leader waits for it.
func TestALeaseThatWasRestoredFromABackupIsNotTakenWhileItsLastHolderMayWork(t *testing.T) {
	inBubble(t, func(s *stand) {
		first := s.join("first", withRelease)
		<-first.started
		s.end(first)
		backup := s.lease()
		a := s.join("a")
		work := <-a.started
		b := s.join("b")
		time.Sleep(10 * time.Second)
		lift := s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true})
		defer lift()
		leases := s.clients.CoordinationV1().Leases("default")
		lease, err := leases.Get(s.Context(), "it", metav1.GetOptions{})
		require.NoError(t, err)
		lease.Spec = backup
		_, err = leases.Update(s.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		<-work.Done()
		require.Empty(t, b.started, "two replicas work")
		<-b.started
		require.ErrorIs(t, <-a.ended, ErrLost)
		s.end(b)
	})
}
