package deployment

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

var (
	simulationSeed  = flag.Int64("deployment.seed", -1, "play only this seed of TestWhateverBreaksTheRolloutEnds")
	simulationSeeds = flag.Uint64("deployment.seeds", 24, "how many seeds of it to play")
)

// Users change the template, scale, pause, resume, roll back, delete and adopt; some images are bad. Meanwhile the
// requests of the controllers of Deployments and ReplicaSets fail or lose their answers, their watches are late and break, and their
// process crashes after a write and starts again. In the end the Deployment, its ReplicaSets and its Pods are as in a
// run in which nothing went wrong. On the way, the surge and the unavailability were respected. And when all is done, nothing
// is written.
func TestWhateverBreaksTheRolloutEnds(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	seeds := *simulationSeeds
	switch {
	case *simulationSeed >= 0:
	case underRaceDetector:
		seeds = min(seeds, 6) // it looks at the goroutines of one process, and needs no great number
	case testing.Short():
		seeds = min(seeds, 8)
	}
	did := map[string]int{}
	for seed := range seeds {
		if *simulationSeed >= 0 && seed != uint64(*simulationSeed) {
			continue
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			var calm, wild result
			synctest.Test(t, func(t *testing.T) { calm = simulate(t, seed, false, map[string]int{}) })
			synctest.Test(t, func(t *testing.T) { wild = simulate(t, seed, true, did) })
			if t.Failed() || calm.state != wild.state || len(calm.broken)+len(wild.broken) > 0 {
				t.Logf("what has happened:\n%s", wild.tale)
			}
			require.Equal(t, calm.state, wild.state, "seed %d: the end", seed)
			require.Empty(t, calm.broken, "seed %d, in which nothing goes wrong", seed)
			require.Empty(t, wild.broken, "seed %d", seed)
		}) {
			// The order of goroutines is not in the seed, so it may take more than one try.
			t.Logf("again: go test -count=20 -run TestWhateverBreaksTheRolloutEnds ./controllers/deployment -deployment.seeds=%d -deployment.seed=%d", seed+1, seed)
			return // one story is enough
		}
	}
	if *simulationSeed < 0 && !t.Failed() && seeds >= 20 {
		requireSimulated(t, did, int(seeds))
	}
}

// simulated is what must have happened, and in how many of 100 seeds. A test that saw little proves little.
var simulated = []struct {
	what string
	of   int
}{
	{"crash", 130}, {"crash after create replicasets", 10}, {"crash after patch replicasets", 20}, {"crash after patch deployments/status", 25},
	{"crash after patch replicasets/status", 12}, {"crash after create pods", 20}, {"crash after delete pods", 15}, {"compacted", 60},
	{"fault: Deployments late", 150}, {"fault: ReplicaSets late", 30}, {"fault: answer to a create lost", 8}, {"fault: answer to a patch lost", 200},
	{"fault: conflict", 200}, {"fault: create fails", 15}, {"fault: patch fails", 80}, {"fault: refused", 50}, {"fault: watch cut", 300},
	{"fault: watch cut in time", 2000}, {"user: change the strategy", 40}, {"user: change the template", 300}, {"user: delete a Pod", 10},
	{"user: make an orphan", 30}, {"user: pause", 60}, {"user: resume", 60}, {"user: scale", 120}, {"user: replace the Deployment", 15},
	{"user: scale a ReplicaSet", 15}, {"user: take a ReplicaSet away", 10}, {"garbage collector: delete", 80}, {"kubelet: fails a Pod", 15},
}

func requireSimulated(t *testing.T, did map[string]int, seeds int) {
	for _, what := range slices.Sorted(maps.Keys(did)) {
		t.Logf("%7d  %s", did[what], what)
	}
	for _, e := range simulated {
		require.GreaterOrEqual(t, did[e.what], e.of*seeds/100, "the test exercises too little: %s", e.what)
	}
}

// result is what a run has led to.
type result struct {
	state  string   // without names and times
	broken []string // promises
	tale   string
}

// simulate plays one seed. The users do the same with faults and without.
func simulate(t *testing.T, seed uint64, wild bool, did map[string]int) result {
	s := newSimulation(t, simulation.Options{Seed: seed, Wild: wild, Controllers: bothControllers, Did: did})
	defer s.End()
	s.startWatching()
	s.Go(func() { s.Kubelet(isGood) })
	s.begin()
	s.Start()
	for range 14 {
		s.Disturb(mishaps, crashes)
		s.act()
		if s.Users.IntN(2) == 0 {
			time.Sleep(time.Duration(s.Users.IntN(4000)) * time.Millisecond)
		} else {
			s.WatchesWork() // one that is broken for longer than the judge remembers would make the judge unjust
			time.Sleep(2 * memory)
		}
	}
	s.Calm()
	s.last()
	time.Sleep(time.Hour)
	synctest.Wait()
	state := s.state()
	s.Server.ForgetRequests()
	time.Sleep(time.Hour)
	synctest.Wait()
	for _, request := range s.Writes() {
		s.Breaks("%s, after all was done", request)
	}
	s.End()
	s.judge()
	return result{state, s.Broken(), s.Tale()}
}

// crashes are the writes after which the process may die.
var crashes = []fakeapi.Match{
	{Verb: "create", Resource: "replicasets"}, {Verb: "patch", Resource: "replicasets"}, {Verb: "patch", Resource: "deployments", Subresource: "status"},
	{Verb: "patch", Resource: "replicasets", Subresource: "status"}, {Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
}

// mishaps are those that mean most to a Deployment.
func mishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb, resource string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: resource} }
	late := time.Duration(random.IntN(2000)) * time.Millisecond
	return []simulation.Mishap{
		{Name: "answer to a create lost", Fault: fakeapi.Fault{Match: on("create", "replicasets"), Probability: often, LoseResponse: true}},
		{Name: "answer to a patch lost", Fault: fakeapi.Fault{Match: on("patch", "replicasets"), Probability: often, LoseResponse: true}},
		{Name: "answer to a patch lost", Fault: fakeapi.Fault{Match: on("patch", ""), Probability: often, LoseResponse: true}},
		{Name: "create fails", Fault: fakeapi.Fault{Match: on("create", "replicasets"), Probability: often, Status: fakeapi.InternalError()}},
		{Name: "create fails", Fault: fakeapi.Fault{Match: on("create", ""), Probability: often, Status: fakeapi.Forbidden()}},
		{Name: "patch fails", Fault: fakeapi.Fault{Match: on("patch", "replicasets"), Probability: often, Status: fakeapi.Timeout()}},
		{Name: "ReplicaSets late", Fault: fakeapi.Fault{Match: on("watch", "replicasets"), DelayEvents: late}},
		{Name: "Deployments late", Fault: fakeapi.Fault{Match: on("watch", "deployments"), DelayEvents: late}},
		{Name: "Pods late", Fault: fakeapi.Fault{Match: on("watch", "pods"), DelayEvents: late}},
	}
}
