package endpoints

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

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

var (
	simulationSeed  = flag.Int64("endpoints.seed", -1, "play only this seed of TestWhateverBreaksTheEndpointsAreRight")
	simulationSeeds = flag.Uint64("endpoints.seeds", 0, "how many seeds of it to play; 60 if 0, and less with -short or -race")
)

// Users make, change and delete Services and Pods, and touch Endpoints themselves. Meanwhile the controller's requests
// fail or lose their answers, its watches are late and break, and its process crashes after a write and starts again. In
// the end, the Endpoints are as in a run in which nothing went wrong, and as the Services and Pods say. And when all is
// done, nothing is written.
func TestWhateverBreaksTheEndpointsAreRight(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	seeds := *simulationSeeds
	switch {
	case seeds > 0:
	case testing.Short():
		seeds = 15
	case underRaceDetector:
		seeds = 15
	default:
		seeds = 60
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
			if t.Failed() || !maps.Equal(calm.state, wild.state) || len(calm.broken)+len(wild.broken) > 0 {
				t.Logf("what has happened:\n%s", wild.tale)
			}
			require.Equal(t, calm.state, wild.state, "seed %d: the end", seed)
			require.Empty(t, calm.broken, "seed %d, in which nothing goes wrong", seed)
			require.Empty(t, wild.broken, "seed %d", seed)
		}) {
			// The order of goroutines is not in the seed, so it may take more than one try.
			t.Logf("again: go test -count=20 -run TestWhateverBreaksTheEndpointsAreRight ./controllers/endpoints -endpoints.seed=%d", seed)
			return // one story is enough
		}
	}
	if *simulationSeed < 0 && !t.Failed() {
		requireSimulated(t, did, int(seeds))
	}
}

// simulated is what must have happened, and in how many of 100 seeds. A test that saw little proves little.
var simulated = []struct {
	what string
	of   int
}{
	{"crash", 200}, {"crash after create endpoints", 40}, {"crash after update endpoints", 100}, {"crash after delete endpoints", 15},
	{"fault: answer to a create lost", 30}, {"fault: answer to an update lost", 200}, {"fault: answer to a delete lost", 4},
	{"fault: conflict of an update", 200}, {"fault: write fails", 300}, {"fault: watch cut", 1500}, {"compacted", 120},
	{"fault: watch of Endpoints late", 300}, {"fault: watch of Pods late", 400}, {"fault: watch of Services late", 400},
	{"user: create a Pod", 900}, {"user: delete a Pod", 150}, {"user: relabel a Pod", 120}, {"kubelet: readiness", 500}, {"kubelet: end a Pod", 130},
	{"user: change a selector", 200}, {"user: delete a Service", 300}, {"user: make a Service again", 200},
	{"user: delete Endpoints", 80}, {"user: write Endpoints", 70}, {"user: remove the labels of Endpoints", 70},
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
	state  map[string]string // what the Endpoints say, by name
	broken []string          // promises
	tale   string            // what has happened
}

// simulate plays one seed. The users do the same with faults and without.
func simulate(t *testing.T, seed uint64, wild bool, did map[string]int) result {
	w := simulation.New(t, simulation.Options{Seed: seed, Wild: wild, Did: did, Controllers: simulatedController})
	defer w.End()
	u := &crowd{World: w}
	for range 12 {
		u.act()
	}
	w.Start()
	for range 25 {
		w.Disturb(ownMishaps, []fakeapi.Match{
			{Verb: "create", Resource: "endpoints"}, {Verb: "update", Resource: "endpoints"},
			{Verb: "update", Resource: "endpoints"}, {Verb: "delete", Resource: "endpoints"},
		})
		for range 1 + w.Users.IntN(4) {
			u.act()
			time.Sleep(time.Duration(w.Users.IntN(200)) * time.Millisecond)
		}
		if w.Users.IntN(2) == 0 {
			time.Sleep(time.Duration(w.Users.IntN(3000)) * time.Millisecond)
		} else {
			time.Sleep(2 * time.Minute)
		}
	}
	w.Calm()
	time.Sleep(time.Hour)
	synctest.Wait()
	state := u.state()
	w.Server.ForgetRequests()
	time.Sleep(time.Hour)
	synctest.Wait()
	for _, request := range w.Writes() {
		w.Breaks("%s, after all was done", request)
	}
	return result{state, w.Broken(), w.Tale()}
}

func simulatedController(connection *rest.Config) (manager.Manager, error) {
	connection.WarningHandlerWithContext = rest.NoWarnings{}
	mgr, err := manager.New(connection, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	return mgr, Add(mgr, controllers.Options{Controller: controller.Options{GracePeriod: -1}, Probe: controllers.ProbeOptions{Skip: true}})
}

// ownMishaps are those of writes, and of single watches: that of Pods is late, and that of Services is not.
func ownMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb, resource string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: resource} }
	late := time.Duration(random.IntN(4000)) * time.Millisecond
	return []simulation.Mishap{
		{Name: "answer to a create lost", Fault: fakeapi.Fault{Match: on("create", "endpoints"), Probability: often, LoseResponse: true}},
		{Name: "answer to an update lost", Fault: fakeapi.Fault{Match: on("update", "endpoints"), Probability: often, LoseResponse: true}},
		{Name: "answer to a delete lost", Fault: fakeapi.Fault{Match: on("delete", "endpoints"), Probability: often, LoseResponse: true}},
		{Name: "conflict of an update", Fault: fakeapi.Fault{Match: on("update", ""), Probability: often, Status: fakeapi.Conflict()}},
		{Name: "write fails", Fault: fakeapi.Fault{Match: on("update", ""), Probability: often, Status: fakeapi.InternalError()}},
		{Name: "write fails", Fault: fakeapi.Fault{Match: on("create", ""), Probability: often, Status: fakeapi.Forbidden()}},
		{Name: "watch of Pods late", Fault: fakeapi.Fault{Match: on("watch", "pods"), DelayEvents: late}},
		{Name: "watch of Services late", Fault: fakeapi.Fault{Match: on("watch", "services"), DelayEvents: late}},
		{Name: "watch of Endpoints late", Fault: fakeapi.Fault{Match: on("watch", "endpoints"), DelayEvents: late}},
	}
}
