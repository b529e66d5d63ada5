package replicaset

import (
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Users scale, delete and relabel, a kubelet starts and ends Pods, and some of them fail. Meanwhile the controller's
// requests fail or lose their answers, its watches are late and break, and its process crashes after a write and
// starts again. In the end the ReplicaSet and its Pods are as in a run in which nothing went wrong. On the way, no Pod
// was created that was too many, none was deleted that was needed, and none was adopted unless the ReplicaSet was there. And when all is done, nothing is written.
func TestWhateverBreaksThePodsAreRight(t *testing.T) {
	simulation.Story{
		Package: "./controllers/replicaset", Seeds: 100, Short: 15, Race: 25,
		Controllers: Add, Mishaps: mishaps, Crashes: crashes, Play: play,
		Least: map[string]int{
			"crash": 200, "crash after create pods": 70, "crash after delete pods": 50, "crash after patch pods": 20, "crash after patch replicasets/status": 40,
			"fault: answer to a create lost": 100, "fault: answer to a delete lost": 40, "fault: refused": 20, "fault: watch late": 600,
			"fault: create fails": 200, "fault: conflict": 40, "fault: watch cut": 1000, "compacted": 80,
			"user: scale": 400, "user: delete a Pod": 80, "user: relabel a Pod": 150, "user: make an orphan": 90, "user: replace the ReplicaSet": 25,
			"kubelet: fails a Pod": 70, "Pods created": 900, "Pods deleted": 450, "Pods adopted": 110, "Pods released": 110,
		},
	}.Test(t)
}

// play plays one seed. The users do the same with faults and without.
func play(w *simulation.World) string {
	s := &simulated{world: &world{World: w}}
	s.noteQuestions()
	s.Watch(&corev1.PodList{}, &appsv1.ReplicaSetList{})
	s.Go(func() { s.Kubelet(nil) })
	s.set(s.Users.Int32N(6))
	s.Start()
	for range 18 {
		s.Disturb()
		s.act()
		s.Pause()
	}
	s.Calm()
	s.Rest()
	state := s.state()
	s.NothingIsWritten()
	s.judge()
	return state
}

// crashes are the writes after which the process may die.
var crashes = []fakeapi.Match{
	{Verb: "create", Resource: "pods"}, {Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
	{Verb: "patch", Resource: "pods"}, {Verb: "patch", Resource: "replicasets", Subresource: "status"},
}

// mishaps are those that mean most to a ReplicaSet.
func mishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: "pods"} }
	return []simulation.Mishap{
		{Name: "answer to a create lost", Fault: fakeapi.Fault{Match: on("create"), Probability: often, LoseResponse: true}},
		{Name: "answer to a create lost", Fault: fakeapi.Fault{Match: on("create"), Probability: often, LoseResponse: true}},
		{Name: "answer to a delete lost", Fault: fakeapi.Fault{Match: on("delete"), Probability: often, LoseResponse: true}},
		{Name: "answer to a delete lost", Fault: fakeapi.Fault{Match: on("delete"), Probability: often, LoseResponse: true}},
		{Name: "create fails", Fault: fakeapi.Fault{Match: on("create"), Probability: often, Status: fakeapi.Forbidden()}},
		{Name: "create fails", Fault: fakeapi.Fault{Match: on("create"), Probability: often, Status: fakeapi.InternalError()}},
		{Name: "delete fails", Fault: fakeapi.Fault{Match: on("delete"), Probability: often, Status: fakeapi.Timeout()}},
		{Name: "watch late", Fault: fakeapi.Fault{Match: on("watch"), DelayEvents: time.Duration(random.IntN(2000)) * time.Millisecond}},
	}
}
