package leaderelection

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// skewed is a lock as it is seen by somebody whose clock shows another time.
type skewed struct {
	resourcelock.Interface
	by time.Duration
}

func (s skewed) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := s.Interface.Get(ctx)
	if err == nil {
		*record = shifted(*record, -s.by)
	}
	return record, raw, err
}

func (s skewed) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Interface.Create(ctx, shifted(record, s.by))
}

func (s skewed) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Interface.Update(ctx, shifted(record, s.by))
}

func shifted(
	r resourcelock.LeaderElectionRecord, by time.Duration,
) resourcelock.LeaderElectionRecord {
	r.AcquireTime.Time, r.RenewTime.Time = r.AcquireTime.Add(by), r.RenewTime.Add(by)
	return r
}

// twice is a way to the server on which some writes arrive two times. The client hears of the
// second.
type twice struct {
	http.RoundTripper
	chance func() bool
}

func (t twice) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.GetBody == nil || !t.chance() {
		return t.RoundTripper.RoundTrip(request)
	}
	first := request.Clone(request.Context())
	first.Body, _ = request.GetBody()
	if response, err := t.RoundTripper.RoundTrip(first); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	return t.RoundTripper.RoundTrip(request)
}

// crowd is replicas of one program on one server, with faults until calm.
type crowd struct {
	*stand
	calm time.Time

	mu       sync.Mutex // guards what follows
	random   *rand.Rand
	working  map[string]bool
	terms    int
	problems []string
}

// chance is also the end of all faults.
func (c *crowd) chance(p float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.calm) && c.random.Float64() < p
}

func (c *crowd) upTo(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.random.Int64N(int64(d)))
}

func (c *crowd) work(identity string) func(context.Context) {
	return func(ctx context.Context) {
		c.mu.Lock()
		if len(c.working) > 0 {
			c.problems = append(c.problems,
				fmt.Sprintf("%s begins while %v works", identity, c.working))
		}
		c.working[identity] = true
		c.terms++
		c.mu.Unlock()
		<-ctx.Done()
		time.Sleep(c.upTo(3 * time.Second)) // what's left of the lease
		c.mu.Lock()
		delete(c.working, identity)
		c.mu.Unlock()
	}
}

// replica starts the program again whenever it ends.
func (c *crowd) replica(ctx context.Context, name string) {
	by := c.upTo(1000 * time.Hour).Truncate(time.Second)
	for start := 0; ctx.Err() == nil; start++ {
		identity := fmt.Sprint(name, start)
		config := c.server.Config()
		config.UserAgent = name
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return twice{next, func() bool { return c.chance(0.05) }}
		})
		lock := c.lock(identity)
		lock.Client = kubernetes.NewForConfigOrDie(config).CoordinationV1()
		elector, err := NewLeaderElector(LeaderElectionConfig{
			Lock: skewed{lock,
				by}, Name: "crowd", ReleaseOnCancel: c.upTo(2) == 0, WaitForMissing: true,
			LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Jitter: func() float64 { return float64(c.upTo(1000)) / 1000 },
			Callbacks: LeaderCallbacks{OnStartedLeading: c.work(identity),
				OnStoppedLeading: func() {}},
		})
		require.NoError(c, err)
		life, cancel := context.WithCancel(ctx)
		if time.Now().Before(c.calm) {
			life, cancel = context.WithTimeout(ctx, c.upTo(2*time.Minute))
		}
		_ = elector.Elect(life)
		cancel()
		time.Sleep(c.upTo(5 * time.Second))
	}
}

func (c *crowd) faults(seed uint64) {
	on := fakeapi.Match{Resource: "leases"}
	for i, fault := range []fakeapi.Fault{
		{Probability: 0.1, Refuse: true}, {Probability: 0.05,
			LoseResponse: true}, {Probability: 0.03, Hang: true},
		{Probability: 0.05, Delay: 4 * time.Second}, {Probability: 0.02, Delay: 20 * time.Second},
		{Probability: 0.05, Status: fakeapi.InternalError()}, {Probability: 0.03,
			Status: fakeapi.Conflict()},
	} {
		fault.Match, fault.Seed = on, seed*10+uint64(i)
		lift := c.server.Inject(fault)
		defer lift()
	}
	for time.Now().Before(c.calm) {
		time.Sleep(c.upTo(20 * time.Second))
		if c.chance(0.4) {
			ctx, cancel := context.WithTimeout(c.Context(), time.Second)
			_ = c.clients.CoordinationV1().Leases("default").Delete(ctx, "it",
				metav1.DeleteOptions{})
			cancel()
			continue
		}
		lift := c.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases",
			UserAgent: string(rune('a' + c.upTo(3)))}, Refuse: c.chance(0.5), LoseResponse: true})
		time.Sleep(c.upTo(30 * time.Second))
		lift()
	}
}

// What the machine decides is worth nothing if the loop around it is late: electors on an API
// server whose connections break, hang and repeat what is sent, while somebody deletes the Lease
// now and then.
func TestNoTwoReplicasWorkOnABadNetwork(t *testing.T) {
	runs, terms := race.Fewer(100), 0
	if testing.Short() {
		runs = 15
	}
	for seed := range uint64(runs) {
		inBubble(t, func(s *stand) {
			c := &crowd{stand: s, calm: time.Now().Add(5 * time.Minute),
				random: rand.New(rand.NewPCG(seed, 5)), working: map[string]bool{}}
			ctx, stop := context.WithCancel(s.Context())
			var replicas sync.WaitGroup
			for _, name := range []string{"a", "b", "c"} {
				replicas.Go(func() { c.replica(ctx, name) })
			}
			c.faults(seed)
			// a life that ends, a Lease that was deleted, and twice the wait
			time.Sleep(3 * time.Minute)
			c.mu.Lock()
			working := len(c.working)
			c.mu.Unlock()
			stop()
			replicas.Wait()
			require.Empty(t, c.problems, "seed %d", seed)
			require.Equal(t, 1, working, "seed %d: the faults are over, and nobody works", seed)
			terms += c.terms
		})
	}
	require.Greater(t, terms, 3*runs, "so few terms prove nothing")
}

// deafReader is a lock of a user's own that does not know contexts.
type deafReader struct {
	resourcelock.Interface
	release chan struct{} // closed by the test
}

func (l deafReader) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	<-l.release
	return nil, nil, context.Canceled
}

// A process that was told to stop ends, even if its lock does not let it.
func TestAFollowerWhoseLockDoesNotReturnEndsAfterStopTimeout(t *testing.T) {
	inBubble(t, func(s *stand) {
		release := make(chan struct{})
		a := s.join("a", withRelease, func(c *LeaderElectionConfig) {
			c.Lock = deafReader{c.Lock, release}
		})
		time.Sleep(time.Minute)
		began := time.Now()
		a.stop(nil)
		require.ErrorIs(s, <-a.ended, ErrStillWorking)
		require.Equal(s, worldTiming.lease-worldTiming.renew, time.Since(began))
		require.Empty(s, a.started)
		close(release)
	})
}
