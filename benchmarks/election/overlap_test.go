package election

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	upstreammetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/metrics"
)

// pair is two replicas, and how long both have worked at the same time.
type pair struct {
	*testing.T
	peer    Peer
	server  *fakeapi.Server
	clients *kubernetes.Clientset
	ended   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	working int
	both    time.Time
	overlap time.Duration
	terms   int
}

// play plays a story with each of the electors, and returns how long two replicas worked at a time.
func play(t *testing.T, peer Peer, story func(*pair)) (overlap time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		p := &pair{T: t, peer: peer, server: server, clients: kubernetes.NewForConfigOrDie(server.Config())}
		story(p)
		p.ended.Wait()
		synctest.Wait() // client-go does not wait for the work
		p.mu.Lock()
		defer p.mu.Unlock()
		require.GreaterOrEqual(t, p.terms, 2, "nobody took over, so nothing was tested")
		overlap = p.overlap
	})
	return overlap
}

// join runs a replica. Its work needs a time to stop.
func (p *pair) join(identity string, stopping time.Duration, change func(http.RoundTripper) http.RoundTripper, release bool) (leave context.CancelFunc) {
	config := p.server.Config()
	config.UserAgent = identity
	if change != nil {
		config.Wrap(change)
	}
	ctx, leave := context.WithCancel(p.Context())
	p.ended.Go(func() {
		p.peer.Run(ctx, Replica{Identity: strings.TrimRight(identity, "'"), Client: kubernetes.NewForConfigOrDie(config).CoordinationV1(),
			Namespace: "default", Name: "it", ReleaseOnCancel: release,
			Work: func(ctx context.Context) {
				p.works(1)
				defer p.works(-1)
				<-ctx.Done()
				time.Sleep(stopping)
			}})
	})
	return leave
}

func (p *pair) works(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working == 2 {
		p.overlap += time.Since(p.both)
	}
	p.working += change
	if p.working == 2 {
		p.both = time.Now()
	}
	p.terms += max(change, 0)
}

// slowAnswers holds the answers of writes back, from a moment on. What they answer has happened.
type slowAnswers struct {
	http.RoundTripper
	by *atomic.Int64 // nanoseconds
}

func (s slowAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	by := time.Duration(s.by.Load())
	response, err := s.RoundTripper.RoundTrip(request)
	select {
	case <-time.After(by):
	case <-request.Context().Done():
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, request.Context().Err()
	}
	return response, err
}

// The chapter tells these stories, with their results.
var stories = []struct {
	name   string
	theirs bool // two replicas of client-go work at the same time
	play   func(*pair)
}{
	{"the Lease is deleted", true, func(p *pair) {
		leaveA := p.join("a", 0, nil, false)
		time.Sleep(time.Minute)
		p.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "a", Resource: "leases"}, Refuse: true, Times: 2})
		require.NoError(p, p.clients.CoordinationV1().Leases("default").Delete(p.Context(), "it", metav1.DeleteOptions{}))
		leaveB := p.join("b", 0, nil, false)
		time.Sleep(time.Minute)
		leaveA()
		leaveB()
		leaveC := p.join("c", 0, nil, false)
		time.Sleep(time.Minute)
		leaveC()
	}},
	{"an answer comes late, and then none", true, func(p *pair) {
		var late atomic.Int64
		leaveA := p.join("a", 0, func(next http.RoundTripper) http.RoundTripper { return slowAnswers{next, &late} }, false)
		time.Sleep(time.Minute)
		late.Store(int64(4900 * time.Millisecond)) // less than the 5 s of controller-runtime's client
		time.Sleep(2 * time.Second)
		leaveB := p.join("b", 0, nil, false)
		p.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "a", Resource: "leases"}, Hang: true, Skip: 1})
		time.Sleep(time.Minute)
		leaveA()
		leaveB()
	}},
	{"the work needs 5 s to stop, and the Lease is released", true, func(p *pair) {
		leaveA := p.join("a", 5*time.Second, nil, true)
		time.Sleep(time.Minute)
		leaveB := p.join("b", 0, nil, false)
		time.Sleep(10 * time.Second)
		leaveA()
		time.Sleep(time.Minute)
		leaveB()
	}},
	{"two processes have one name", true, func(p *pair) {
		leaveFirst := p.join("a", 0, nil, false)
		time.Sleep(time.Minute)
		leaveSecond := p.join("a'", 0, nil, false)
		time.Sleep(time.Minute)
		leaveFirst()
		time.Sleep(time.Minute)
		leaveSecond()
	}},
	{"a leader is cut off", false, func(p *pair) {
		leaveA := p.join("a", 0, nil, false)
		time.Sleep(time.Minute)
		leaveB := p.join("b", 0, nil, false)
		p.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "a", Resource: "leases"}, Refuse: true})
		time.Sleep(time.Minute)
		leaveA()
		leaveB()
	}},
}

// plays plays a story often: the pauses of client-go's followers are random, and so some overlaps are.
const plays = 20

func TestTwoReplicasOfOursNeverWorkTogether(t *testing.T) {
	for _, story := range stories {
		for range plays {
			require.Zero(t, play(t, Ours, story.play), story.name)
		}
	}
}

// The text says so, and would be wrong if a later version no longer did it.
func TestTwoReplicasOfClientGoMayWorkTogether(t *testing.T) {
	for _, story := range stories {
		var longest time.Duration
		for n := 0; n < plays || n < 100*plays && story.theirs && longest == 0; n++ {
			longest = max(longest, play(t, Theirs, story.play))
		}
		t.Logf("%s: up to %s", story.name, longest.Round(100*time.Millisecond))
		require.Equal(t, story.theirs, longest > 0, "%s: %s", story.name, longest)
	}
}

func registered(t *testing.T, gather func() (names []string, err error)) string {
	t.Helper()
	names, err := gather()
	require.NoError(t, err)
	return strings.Join(names, " ")
}

// A counter that nobody can read counts nothing.
func TestOnlyOursHasTheMetricOfTheSlowPath(t *testing.T) {
	for _, peer := range []Peer{Ours, Theirs} {
		play(t, peer, func(p *pair) {
			leave := p.join("a", 0, nil, true)
			time.Sleep(time.Minute)
			p.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", Resource: "leases"}, Status: fakeapi.Conflict(), Times: 1})
			time.Sleep(time.Minute)
			leave()
			leave = p.join("b", 0, nil, true)
			time.Sleep(time.Minute)
			leave()
		})
	}
	ours := registered(t, func() (names []string, err error) {
		families, err := metrics.Registry.Gather()
		for _, family := range families {
			names = append(names, family.GetName())
		}
		return names, err
	})
	theirs := registered(t, func() (names []string, err error) {
		families, err := upstreammetrics.Registry.Gather()
		for _, family := range families {
			names = append(names, family.GetName())
		}
		return names, err
	})
	require.Contains(t, ours, "leader_election_master_status")
	require.Contains(t, theirs, "leader_election_master_status")
	require.Contains(t, ours, "leader_election_slowpath_total")
	require.NotContains(t, theirs, "leader_election_slowpath_total")
}
