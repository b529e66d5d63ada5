package deployment

import (
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Users change the template, scale, pause, resume, roll back, delete and adopt; some images are
// bad. Meanwhile the requests of the controllers of Deployments and ReplicaSets fail or lose their
// answers, their watches are late and break, and their process crashes after a write and starts
// again. In the end the Deployment, its ReplicaSets and its Pods are as in a run in which nothing
// went wrong. On the way, the surge and the unavailability were respected. And when all is done,
// nothing is written.
func TestWhateverBreaksTheRolloutEnds(t *testing.T) {
	simulation.Story{
		// few seeds are enough for the race detector
		Name: "deployment", Seeds: 60, Short: 8, Race: 6,
		Controllers: bothControllers, Steps: 9, Mishaps: mishaps, Crashes: crashes, Cast: cast,
		Least: map[string]int{
			"crash": 130, "crash after create replicasets": 10, "crash after patch replicasets": 20,
			"crash after patch deployments/status": 25,
			"crash after patch replicasets/status": 12, "crash after create pods": 20,
			"crash after delete pods": 15, "compacted": 60,
			"fault: Deployments late": 150, "fault: ReplicaSets late": 30,
			"fault: answer to a create lost": 8, "fault: answer to a patch lost": 200,
			"fault: conflict": 200, "fault: create fails": 15, "fault: patch fails": 80,
			"fault: refused": 50, "fault: watch cut": 300,
			"fault: watch cut in time": 2000, "user: change the strategy": 40,
			"user: change the template": 300, "user: delete a Pod": 10,
			"user: make an orphan": 30, "user: pause": 60, "user: resume": 60, "user: scale": 120,
			"user: replace the Deployment": 15,
			"user: scale a ReplicaSet":     15, "user: take a ReplicaSet away": 10,
			"garbage collector: delete": 80, "kubelet: fails a Pod": 15,
		},
	}.Test(t)
}

// cast are the users of the Deployment web.
func cast(w *simulation.World) simulation.Cast {
	s := &simulated{world: &world{w}}
	return simulation.Cast{
		Begin: func() {
			s.NoteQuestions()
			s.Watch(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{})
			s.Go(func() { s.Kubelet(isGood) })
			s.make()
		},
		Act: s.act, Last: s.last, State: s.state,
		Judge: func() {
			s.ReplicaSetsAreDone()
			s.DeploymentsAreDone()
			s.JudgeSizes()
			s.JudgePods()
		},
	}
}

// crashes are the writes after which the process may die.
var crashes = []fakeapi.Match{
	{Verb: "create", Resource: "replicasets"}, {Verb: "patch", Resource: "replicasets"},
	{Verb: "patch", Resource: "deployments", Subresource: "status"},
	{Verb: "patch", Resource: "replicasets", Subresource: "status"},
	{Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
}

// mishaps are those that are hardest for a Deployment.
func mishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb, resource string) fakeapi.Match {
		return fakeapi.Match{Verb: verb, Resource: resource}
	}
	late := time.Duration(random.IntN(2000)) * time.Millisecond
	return []simulation.Mishap{
		{
			Name: "answer to a create lost",
			Fault: fakeapi.Fault{
				Match: on("create", "replicasets"), Probability: often, LoseResponse: true,
			},
		},
		{
			Name: "answer to a patch lost",
			Fault: fakeapi.Fault{
				Match: on("patch", "replicasets"), Probability: often, LoseResponse: true,
			},
		},
		{
			Name:  "answer to a patch lost",
			Fault: fakeapi.Fault{Match: on("patch", ""), Probability: often, LoseResponse: true},
		},
		{
			Name: "create fails",
			Fault: fakeapi.Fault{
				Match: on("create", "replicasets"), Probability: often,
				Status: fakeapi.InternalError(),
			},
		},
		{
			Name: "create fails",
			Fault: fakeapi.Fault{
				Match: on("create", ""), Probability: often, Status: fakeapi.Forbidden(),
			},
		},
		{
			Name: "patch fails",
			Fault: fakeapi.Fault{
				Match: on("patch", "replicasets"), Probability: often, Status: fakeapi.Timeout(),
			},
		},
		{
			Name:  "ReplicaSets late",
			Fault: fakeapi.Fault{Match: on("watch", "replicasets"), DelayEvents: late},
		},
		{
			Name:  "Deployments late",
			Fault: fakeapi.Fault{Match: on("watch", "deployments"), DelayEvents: late},
		},
		{Name: "Pods late", Fault: fakeapi.Fault{Match: on("watch", "pods"), DelayEvents: late}},
	}
}
