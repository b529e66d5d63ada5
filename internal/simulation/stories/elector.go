package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// Candidate is what an elector is given: a lock, under an identity that no other candidate has; the work;
// and numbers from 0 to 1 for its pauses.
type Candidate struct {
	Lock   resourcelock.Interface
	Lead   func(context.Context)
	Jitter func() float64

	// An elector that makes its own lock for the Lease needs the connection, and passes the lock through
	// ByItsClock: the process's clock shows another time.
	Connection *rest.Config
	ByItsClock func(resourcelock.Interface) resourcelock.Interface
	// Exit ends the process at once, and its work with it, as os.Exit does.
	Exit func()
}

// The Lease that candidates compete for.
const LeaseNamespace, LeaseName = "default", "it"

// Elector is the story of replicas that compete for one Lease. elect takes part in the election, and leads
// if it gets the Lease, until the context ends or the Lease is lost. Its lease lasts 15 s, and its work
// gets 3 s to stop.
//
// Users stop and kill replicas, and delete the Lease. Each replica's clock shows another time, and jumps.
// On the way, no two may lead at a time, and in the end one leads and goes on leading.
func Elector(elect func(context.Context, Candidate)) simulation.Story {
	return elector("elector", elect, false)
}

// ElectorOfAKeptLease is Elector, but nobody deletes the Lease.
func ElectorOfAKeptLease(elect func(context.Context, Candidate)) simulation.Story {
	s := elector("elector-kept-lease", elect, true)
	delete(s.Least, leaseDeleted)
	return s
}

const leaseDeleted = "user: delete the Lease"

func elector(name string, elect func(context.Context, Candidate), kept bool) simulation.Story {
	return simulation.Story{
		Name: name, Seeds: 60, Short: 20, Race: 10,
		Steps: 15, Long: time.Minute, Rest: 3 * time.Minute, Mishaps: electorMishaps,
		Least: map[string]int{
			"terms":                           300,
			"a clock jumps":                   200,
			leaseDeleted:                      70,
			"user: kill a replica":            200,
			"user: stop a replica":            180,
			"fault: answer to an update lost": 400,
			"fault: conflict":                 500,
			"fault: no answer":                500,
			"fault: old answers":              800,
			"fault: one replica can't reach the server": 1500,
			"fault: one replica can't write":            50,
			"fault: slow writes":                        250,
			"mishap: wrong answers":                     80,
		},
		Cast: func(w *simulation.World) simulation.Cast {
			e := &electorate{World: w, elect: elect, kept: kept, at: map[string]int{}, dead: map[string]bool{}}
			return simulation.Cast{
				Begin: e.begin, Act: e.act, Last: e.last, State: e.state, Judge: e.judge,
			}
		},
	}
}

// stopsWithin is how long the work takes to stop, at most.
const stopsWithin = 2900 * time.Millisecond

// electorMishaps are all that happens to the requests of electors.
func electorMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: "leases"} }
	one := func(match fakeapi.Match) fakeapi.Match {
		match.UserAgent = "-" + names[random.IntN(len(names))]
		return match
	}
	all := simulation.OfRequests(random, often)
	for i := range all {
		all[i].Blinds = false // an elector watches nothing
	}
	return append(all,
		simulation.Mishap{Name: "answer to an update lost", Fault: fakeapi.Fault{
			Match: on("update|patch"), Probability: often, LoseResponse: true,
		}},
		simulation.Mishap{Name: "no answer", Fault: fakeapi.Fault{
			Match: on(""), Probability: often, Hang: true,
		}},
		simulation.Mishap{Name: "one replica has no answers", Fault: fakeapi.Fault{
			Match: one(on("")), Hang: true,
		}},
		simulation.Mishap{Name: "one replica can't reach the server", Fault: fakeapi.Fault{
			Match: one(on("")), Refuse: true,
		}},
		simulation.Mishap{Name: "one replica can't write", Fault: fakeapi.Fault{
			Match: one(on("update|patch")), Status: fakeapi.Forbidden(),
		}},
		simulation.Mishap{Name: "slow writes", Fault: fakeapi.Fault{
			Match: on("update|patch"), Probability: often,
			Delay: time.Duration(1+random.IntN(20)) * time.Second,
		}},
		simulation.Mishap{Name: "old answers", Fault: fakeapi.Fault{
			Match: on("get"), Probability: often, Stale: uint64(1 + random.IntN(6)),
		}},
		simulation.Answering(random, hostile.Get, hostile.Create, hostile.Update),
		simulation.Answering(random, hostile.Get, hostile.Create, hostile.Update),
	)
}

// electorate are the replicas, and the judge of what they do.
type electorate struct {
	*simulation.World
	elect    func(context.Context, Candidate)
	kept     bool // nobody deletes the Lease
	replicas []*replica

	mu    sync.Mutex // guards the rest
	terms []term
	at    map[string]int  // the replica's newest term, while it lasts
	dead  map[string]bool // processes that were killed, or have exited
}

// term is a time in which a replica worked.
type term struct {
	identity string
	from, to time.Time // to is zero while it lasts
}

// replica is one of them. Its clock is ahead of the true time.
type replica struct {
	*electorate
	*life
	ahead atomic.Int64 // nanoseconds
}

func (e *electorate) begin() {
	for number := range names {
		ahead := time.Duration(e.Users.IntN(1000)) * time.Hour
		r := &replica{electorate: e, life: newLife(e.World, number)}
		r.ahead.Store(int64(ahead))
		e.replicas = append(e.replicas, r)
		e.Go(func() { r.live(r.compete, e.dies) })
	}
}

// compete is a process.
func (r *replica) compete(ctx context.Context, p process) {
	r.elect(ctx, Candidate{
		Lock: clock{
			Interface: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName},
				Client:     kubernetes.NewForConfigOrDie(p.connection).CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: p.name},
			},
			of: r,
		},
		Lead:   func(ctx context.Context) { r.lead(ctx, p.name) },
		Jitter: func() float64 { return float64(r.upTo(time.Second)) / float64(time.Second) },

		Connection: p.connection, Exit: p.exit,
		ByItsClock: func(lock resourcelock.Interface) resourcelock.Interface { return clock{lock, r} },
	})
}

// lead is the work. It takes a while to stop.
func (r *replica) lead(ctx context.Context, identity string) {
	r.begins(identity)
	<-ctx.Done()
	time.Sleep(r.upTo(stopsWithin))
	r.ends(identity)
}

// begins notes that a replica begins to work, and judges OneLeader.
func (e *electorate) begins(identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead[identity] {
		return // it was about to begin, on its way out
	}
	now := time.Now()
	for other := range e.at {
		e.Breaks(simulation.OneLeader, now, "%s begins to work, and %s works", identity, other)
	}
	e.at[identity] = len(e.terms)
	e.terms = append(e.terms, term{identity: identity, from: now})
	e.Count("terms")
	e.Tell("%s begins to work", identity)
}

func (e *electorate) ends(identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endsLocked(identity)
}

// dies is the end of a process: what its goroutines still do isn't work any more.
func (e *electorate) dies(identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endsLocked(identity)
	e.dead[identity] = true
}

func (e *electorate) endsLocked(identity string) {
	n, works := e.at[identity]
	if !works {
		return // it never began, or has died
	}
	delete(e.at, identity)
	e.terms[n].to = time.Now()
	e.Tell("%s has stopped working", identity)
}

// act lets a user do something. It takes the same random numbers in each run.
func (e *electorate) act() {
	what, r := e.Users.IntN(8), e.replicas[e.Users.IntN(len(e.replicas))]
	jump := time.Duration(e.Users.IntN(7200)-3600) * time.Second
	stop, kill := r.deaths()
	switch what {
	case 0, 1:
		e.OthersDid(nil, "user: stop a replica", r.name)
		stop()
	case 2, 3:
		e.OthersDid(nil, "user: kill a replica", r.name)
		kill()
	case 4:
		if e.kept {
			return
		}
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName},
		}
		e.OthersDid(e.Live.Delete(context.Background(), lease), leaseDeleted, "")
	case 6, 7:
		r.ahead.Add(int64(jump))
		e.OthersDid(nil, "a clock jumps", fmt.Sprint(r.name, " by ", jump))
	}
}

// last stops one replica for the last time: somebody else has to lead then, or the same one again.
func (e *electorate) last() {
	r := e.replicas[e.Users.IntN(len(e.replicas))]
	stop, _ := r.deaths()
	stop()
}

// working are the identities of the replicas that work.
func (e *electorate) working() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for identity := range e.at {
		all = append(all, identity)
	}
	slices.Sort(all)
	return all
}

func (e *electorate) state() string { return fmt.Sprint(len(e.working()), " lead") }

// judge judges ActedOn and Quiet: one replica leads, and goes on leading, because there's no reason to
// change.
func (e *electorate) judge() {
	before := e.working()
	if len(before) != 1 {
		e.Breaks(simulation.ActedOn, time.Now(), "in the end, %s lead", strings.Join(before, ", "))
	}
	time.Sleep(3 * time.Minute)
	if after := e.working(); !slices.Equal(before, after) {
		e.Breaks(simulation.Quiet, time.Now(), "the leader was %v, and is %v", before, after)
	}
}

// clock is a lock as it's seen by a process whose clock shows another time.
type clock struct {
	resourcelock.Interface
	of *replica
}

func (c clock) ahead() time.Duration { return time.Duration(c.of.ahead.Load()) }

// Get implements resourcelock.Interface.
func (c clock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := c.Interface.Get(ctx)
	if err == nil {
		*record = moved(*record, -c.ahead())
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (c clock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.Interface.Create(ctx, moved(record, c.ahead()))
}

// Update implements resourcelock.Interface.
func (c clock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.Interface.Update(ctx, moved(record, c.ahead()))
}

func moved(
	record resourcelock.LeaderElectionRecord, by time.Duration,
) resourcelock.LeaderElectionRecord {
	record.AcquireTime.Time = record.AcquireTime.Add(by)
	record.RenewTime.Time = record.RenewTime.Add(by)
	return record
}
