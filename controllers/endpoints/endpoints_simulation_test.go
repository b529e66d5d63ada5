package endpoints

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Users make, change and delete Services and Pods, and touch Endpoints themselves. Meanwhile the controller's requests
// fail or lose their answers, its watches are late and break, and its process crashes after a write and starts again. In
// the end, the Endpoints are as in a run in which nothing went wrong, and as the Services and Pods say. And when all is
// done, nothing is written.
func TestWhateverBreaksTheEndpointsAreRight(t *testing.T) {
	simulation.Story{
		Package: "./controllers/endpoints", Seeds: 60, Short: 15, Race: 15,
		Controllers: Add, Mishaps: mishaps, Crashes: crashes, Play: play,
		Least: map[string]int{
			"crash": 200, "crash after create endpoints": 40, "crash after update endpoints": 100, "crash after delete endpoints": 15,
			"fault: answer to a create lost": 30, "fault: answer to an update lost": 200, "fault: answer to a delete lost": 4,
			"fault: conflict of an update": 200, "fault: write fails": 300, "fault: watch cut": 1500, "compacted": 120,
			"fault: watch of Endpoints late": 300, "fault: watch of Pods late": 400, "fault: watch of Services late": 400,
			"user: create a Pod": 900, "user: delete a Pod": 150, "user: relabel a Pod": 120, "kubelet: readiness": 500, "kubelet: end a Pod": 130,
			"user: change a selector": 200, "user: delete a Service": 300, "user: make a Service again": 200,
			"user: delete Endpoints": 80, "user: write Endpoints": 70, "user: remove the labels of Endpoints": 70,
		},
	}.Test(t)
}

// play plays one seed. The users do the same with faults and without.
func play(w *simulation.World) string {
	u := &crowd{World: w}
	u.live(func() {})
	state := u.state()
	w.NothingIsWritten()
	return fmt.Sprint(state)
}

// live lets the users do what they like, and something else now and then, until all is calm.
func (u *crowd) live(also func()) {
	for range 12 {
		u.act()
	}
	u.Start()
	for range 25 {
		u.Disturb()
		for range 1 + u.Users.IntN(4) {
			u.act()
			time.Sleep(time.Duration(u.Users.IntN(200)) * time.Millisecond)
		}
		also()
		if u.Users.IntN(2) == 0 {
			time.Sleep(time.Duration(u.Users.IntN(3000)) * time.Millisecond)
		} else {
			time.Sleep(2 * time.Minute)
		}
	}
	u.Calm()
	u.Rest()
}

// crashes are the writes after which the process may die.
var crashes = []fakeapi.Match{
	{Verb: "create", Resource: "endpoints"}, {Verb: "update", Resource: "endpoints"},
	{Verb: "update", Resource: "endpoints"}, {Verb: "delete", Resource: "endpoints"},
}

// mishaps are those of writes, and of single watches: that of Pods is late, and that of Services is not.
func mishaps(random *rand.Rand, often float64) []simulation.Mishap {
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
