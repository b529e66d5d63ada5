package sharding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/trace"
)

// crew is some replicas of one program, and what the test sees of their work.
type crew struct {
	*testing.T
	server *fakeapi.Server
	random *rand.Rand
	end    context.Context
	config Config // where it isn't the usual one
	idle   bool   // replicas have no workers

	mu    sync.Mutex        // guards the rest
	busy  map[string]string // who works on each namespace
	done  map[string]int    // how often each was worked on, since the last count
	last  map[string]string
	twice []string
	hands []*hand
	runs  sync.WaitGroup

	created []string // more namespaces, in which nobody works
	unknown error    // why they can't be listed
	counts  int      // how often they were
}

func (c *crew) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// has returns how many namespaces each replica has, according to the table.
func (c *crew) has() map[string]int {
	leases, err := coordinationv1client.NewForConfig(c.server.Config())
	require.NoError(c, err)
	object, err := leases.Leases("system").Get(c.end, "shop", metav1.GetOptions{})
	require.NoError(c, err)
	t, err := decode(object.Annotations[tableAnnotation])
	require.NoError(c, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	has := map[string]int{}
	for _, h := range c.hands {
		for i := range namespaces {
			if holderOf(t.runs, hashOf(fmt.Sprint("ns-", i))) == h.Member.name {
				has[h.name]++
			}
		}
		for _, name := range c.created {
			if holderOf(t.runs, hashOf(name)) == h.Member.name {
				has[h.name]++
			}
		}
	}
	return has
}

// hand is one replica.
type hand struct {
	*crew
	*Member
	name string
	stop context.CancelFunc
	err  chan error

	mu  sync.Mutex
	cut float64 // how many of its requests get lost, or their answers
}

const namespaces = 40

func aCrew(t *testing.T, seed uint64, play func(c *crew)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{AnyNamespace: true})
		defer server.Close()
		end, stop := context.WithCancel(t.Context())
		c := &crew{T: t, server: server, random: rand.New(rand.NewPCG(seed, 0)), end: end,
			busy: map[string]string{}, done: map[string]int{}, last: map[string]string{}}
		defer c.runs.Wait()
		defer stop()
		play(c)
		c.mu.Lock()
		defer c.mu.Unlock()
		assert.Empty(t, c.twice, "two replicas have worked on one namespace")
	})
}

// RoundTrip loses requests and answers.
func (h *hand) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	cut := h.cut
	h.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	if cut == 1 { // a cable that's pulled: nobody answers at all
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if rand.Float64() < cut {
		return nil, io.ErrUnexpectedEOF
	}
	response, err := h.server.Transport().RoundTrip(r)
	if err == nil && rand.Float64() < cut {
		_ = response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

func (h *hand) loses(part float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = part
}

// joins starts a replica, with some workers.
func (c *crew) joins() *hand {
	h := &hand{crew: c, name: fmt.Sprintf("r%d", len(c.hands)), err: make(chan error, 1)}
	config := c.server.Config()
	config.Dial, config.Transport = nil, h
	leases, err := coordinationv1client.NewForConfig(config)
	require.NoError(c, err)
	member := c.config
	member.Client, member.Namespace, member.ID, member.Namespaces = leases, "system", "shop", h.names
	h.Member, err = New(member)
	require.NoError(c, err)
	var ctx context.Context
	ctx, h.stop = context.WithCancel(c.end)
	c.hands = append(c.hands, h)
	c.runs.Go(func() {
		err := h.Run(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		for namespace, who := range c.busy {
			if who == h.name {
				c.twice = append(c.twice, fmt.Sprintf("%s: %s, which has ended: %v", namespace, who, err))
			}
		}
		h.err <- err
	})
	for worker := range 3 {
		if c.idle {
			break
		}
		c.runs.Go(func() { h.work(worker) })
	}
	return h
}

// names are the namespaces, unless nobody can know them now.
func (h *hand) names(context.Context) (names []string, err error) {
	h.crew.mu.Lock()
	defer h.crew.mu.Unlock()
	h.counts++
	for i := range namespaces {
		names = append(names, fmt.Sprint("ns-", i))
	}
	return append(names, h.created...), h.unknown
}

// work reconciles all namespaces, again and again.
func (h *hand) work(worker int) {
	for i := worker; h.crew.end.Err() == nil; i++ {
		namespace := fmt.Sprint("ns-", i%namespaces)
		if worker == i%3 {
			h.reconcile(namespace)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (h *hand) reconcile(namespace string) {
	ctx, leave, ok := h.Gate().Enter(h.crew.end, namespace)
	if !ok {
		return
	}
	defer leave()
	h.crew.mu.Lock()
	if other := h.busy[namespace]; other != "" && other != h.name {
		h.twice = append(h.twice, fmt.Sprintf("%s: %s and %s", namespace, other, h.name))
	}
	h.busy[namespace] = h.name
	h.crew.mu.Unlock()
	select {
	case <-time.After(time.Duration(rand.IntN(2000)) * time.Millisecond):
	case <-ctx.Done():
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
	}
	h.crew.mu.Lock()
	h.busy[namespace] = ""
	h.done[namespace]++
	h.last[namespace] = h.name
	h.crew.mu.Unlock()
}

// shares waits, and returns how many namespaces each replica has worked on meanwhile.
func (c *crew) shares(d time.Duration) map[string]int {
	c.mu.Lock()
	clear(c.done)
	clear(c.last)
	c.mu.Unlock()
	time.Sleep(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	shares := map[string]int{}
	for _, who := range c.last {
		shares[who]++
	}
	return shares
}

func TestReplicasShareTheWorkAndTakeOverFromEachOther(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		first := c.joins()
		time.Sleep(5 * time.Second)
		require.Equal(t, map[string]int{"r0": namespaces}, c.shares(time.Minute))

		second := c.joins()
		time.Sleep(10 * time.Second)
		require.Equal(t, map[string]int{"r0": 21, "r1": 19}, c.shares(time.Minute), "r1 also has what has no namespace")

		second.stop()
		require.NoError(t, <-second.err)
		time.Sleep(5 * time.Second)
		require.Equal(t, map[string]int{"r0": namespaces}, c.shares(time.Minute))

		third := c.joins()
		time.Sleep(20 * time.Second)
		first.loses(1)
		require.Error(t, <-first.err)
		time.Sleep(12 * time.Second)
		require.Equal(t, map[string]int{third.name: namespaces}, c.shares(time.Minute))
	})
}

// It has lost the server, and is told to stop before its Lease has run out. It doesn't wait for answers that don't come.
func TestAReplicaThatIsCutOffStopsInTime(t *testing.T) {
	for seconds := range 13 {
		aCrew(t, 1, func(c *crew) {
			h := c.joins()
			time.Sleep(10 * time.Second)
			h.loses(1)
			lost := time.Now()
			time.Sleep(time.Duration(seconds) * time.Second)
			h.stop()
			err := <-h.err
			require.NotErrorIs(c, err, leaderelection.ErrStillWorking, "told after %d s", seconds)
			require.Less(c, time.Since(lost), 15*time.Second, "told after %d s", seconds)
		})
	}
}

// Replicas come and go, and can't reach the server for a while, wholly or in part. Nobody works beside another one, and when it's
// over, everything is worked on again.
func TestThroughJoinsLeavesAndLossesNobodyWorksBesideAnother(t *testing.T) {
	for seed := range race.Fewer(uint64(20)) {
		aCrew(t, seed, func(c *crew) {
			c.joins()
			for range 25 {
				h := c.hands[c.random.IntN(len(c.hands))]
				switch c.random.IntN(6) {
				case 0:
					c.joins()
				case 1:
					h.stop()
				case 2:
					h.loses(1)
				case 3, 4:
					h.loses(c.random.Float64() / 2)
				case 5:
					h.loses(0)
				}
				time.Sleep(time.Duration(c.random.IntN(15000)) * time.Millisecond)
			}
			for _, h := range c.hands {
				h.loses(0)
			}
			c.joins()
			time.Sleep(time.Minute)
			total := 0
			for _, share := range c.shares(time.Minute) {
				total += share
			}
			require.Equal(c, namespaces, total, "seed %d: not everything is worked on", seed)
		})
	}
}

// Namespaces are created, and those who share them notice, without asking for them all the time.
func TestNewNamespacesAreSharedAfterAMinute(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		c.joins()
		c.joins()
		time.Sleep(20 * time.Second)
		require.InDelta(t, 20, c.has()["r0"], 1)
		time.Sleep(2 * time.Minute) // whatever was to be done is done
		c.set(func() { c.counts = 0 })
		time.Sleep(10 * time.Minute)
		c.set(func() {
			require.InDelta(t, 20, c.counts, 2, "each of them looks every minute")
			for i := range 40 {
				c.created = append(c.created, fmt.Sprint("ns-0-", i)) // most of them side by side
			}
		})
		before := c.has()
		require.Greater(t, max(before["r0"]-before["r1"], before["r1"]-before["r0"]), 15)
		time.Sleep(recount + 10*time.Second)
		even := c.has()
		require.InDelta(t, even["r0"], even["r1"], 2) // one has what has no namespace, too
	})
}

// A replica that doesn't know how many namespaces there are can't know who has too many. It takes what's free, and keeps what it
// has, until it knows.
func TestWhoeverCannotListTheNamespacesGivesNothingAway(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		first := c.joins()
		time.Sleep(20 * time.Second)
		c.set(func() { c.unknown = errors.New("the server is busy") })
		c.joins()
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"r0": 40}, c.has())
		require.Equal(t, map[string]int{"r0": 40}, c.shares(time.Minute), "it goes on with its work")
		first.stop()
		require.NoError(t, <-first.err)
		time.Sleep(20 * time.Second)
		require.Equal(t, map[string]int{"r1": 40}, c.has())
		c.joins()
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"r1": 40}, c.has())
		c.set(func() { c.unknown = nil })
		time.Sleep(20 * time.Second)
		require.Equal(t, map[string]int{"r1": 21, "r2": 19}, c.has())
	})
}

// A program that's updated every day would have thousands of Leases after some years, and each replica lists all of them every two
// seconds.
func TestTheLeasesOfReplicasThatLeftAreDeletedAfterADay(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		leases, err := coordinationv1client.NewForConfig(c.server.Config())
		require.NoError(t, err)
		names := func() (names []string) {
			list, err := leases.Leases("system").List(c.end, metav1.ListOptions{})
			require.NoError(t, err)
			for _, object := range list.Items {
				names = append(names, object.Name)
			}
			return names
		}
		c.idle, c.config.RetryPeriod = true, 5*time.Minute // or this day is a long one
		c.config.LeaseDuration, c.config.RenewDeadline = 40*time.Minute, 20*time.Minute
		left, stays := c.joins(), c.joins()
		time.Sleep(time.Hour)
		left.stop()
		require.NoError(t, <-left.err)
		time.Sleep(forgotten - 10*time.Minute)
		require.ElementsMatch(t, []string{"shop", left.Member.name, stays.Member.name}, names())
		time.Sleep(20 * time.Minute)
		require.ElementsMatch(t, []string{"shop", stays.Member.name}, names())
		require.Equal(t, map[string]int{"r1": namespaces}, c.has())
	})
}

// Somebody wants to know why nothing has happened to an object: which replica has it, and since when?
func TestARecordingSaysWhoHasWhichNamespaceAndSinceWhen(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		recorder := trace.New(1 << 14)
		c.config.Recorder = recorder
		first := c.joins()
		c.config.Recorder = nil
		time.Sleep(20 * time.Second)
		c.joins()
		time.Sleep(20 * time.Second)
		third := c.joins()
		time.Sleep(20 * time.Second)
		third.stop()
		require.NoError(t, <-third.err)
		time.Sleep(20 * time.Second)

		story := map[string][]string{}
		for _, e := range recorder.Events() {
			if e.Kind == trace.Shard {
				require.Equal(t, "Namespace", e.Object)
				for _, h := range c.hands {
					e.Reason = strings.ReplaceAll(e.Reason, h.Member.name, h.name)
				}
				story[e.Name] = append(story[e.Name], strings.TrimSpace(e.Op+" "+e.Reason))
			}
		}
		require.Len(t, story, namespaces)
		has, stories := map[string]int{}, map[string]int{}
		for _, of := range story {
			last := of[len(of)-1]
			if last == "begins" {
				last = of[len(of)-2]
			}
			has[last]++
			stories[strings.Join(of, ", ")]++
		}
		table := c.has()
		require.Equal(t, map[string]int{"held r0": table["r0"], "held r1": table["r1"]}, has)
		for story := range stories {
			require.True(t, strings.HasPrefix(story, "held r0, begins"), story)
			rest := strings.TrimPrefix(story, "held r0, begins")
			require.Contains(t, []string{
				"",
				", stops, ended, held r1", ", stops, ended, held r1, held r2, held r0, begins", ", stops, ended, held r1, held r2, held r1",
				", stops, ended, held r2, held r0, begins", ", stops, ended, held r2, held r1",
			}, rest)
		}
		first.stop()
		require.NoError(t, <-first.err)
		open := map[string]bool{}
		for _, e := range recorder.Events() {
			if e.Kind == trace.Shard && e.Op != "held" {
				open[e.Name] = e.Op != "ended"
			}
		}
		require.NotContains(t, slices.Collect(maps.Values(open)), true, "a replica that leaves says so")
	})
}

// Two replicas write the table at the same time, and one is refused. Nobody has to do anything about it, so it's no error, unless it
// stays. Whatever stays is told once.
func TestARefusedWriteOfTheTableIsNoErrorUnlessItStays(t *testing.T) {
	var said []string
	log := funcr.New(func(_, text string) { said = append(said, text) }, funcr.Options{})
	s := &sharing{log: log, failure: map[string]failure{}}
	refused := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "shop", errors.New("it has changed"))
	other := errors.New("no route")
	for _, err := range []error{refused, nil, refused, nil, refused, refused, refused, other, other, nil, other} {
		s.report(err, "It can't")
	}
	var errs []bool
	for _, text := range said {
		errs = append(errs, strings.Contains(text, `"msg"="It can't"`))
	}
	require.Equal(t, []bool{false, false, false, true, true, true}, errs, said)
}

// Somebody replaces leader election by sharding, and keeps the ID. The old Lease of that name isn't the table.
func TestALeaseOfAnotherProgramIsSaidToBeInTheWay(t *testing.T) {
	aCrew(t, 1, func(c *crew) {
		leases, err := coordinationv1client.NewForConfig(c.server.Config())
		require.NoError(t, err)
		_, err = leases.Leases("system").Create(c.end, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		errs := 0
		c.end = logr.NewContext(c.end, funcr.New(func(_, text string) {
			if strings.Contains(text, "choose another ID, or delete it") && strings.Contains(text, "The work can't be shared") {
				c.set(func() { errs++ })
			}
		}, funcr.Options{}))
		c.joins()
		time.Sleep(time.Minute)
		c.set(func() { require.Equal(t, 1, errs) })
		require.NoError(t, leases.Leases("system").Delete(c.end, "shop", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"r0": namespaces}, c.shares(time.Minute), "it works as soon as the Lease is gone")
	})
}
