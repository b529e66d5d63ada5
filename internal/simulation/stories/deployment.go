package stories

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
)

// Deployment is the story of a Deployment, for the controllers of Deployments and of ReplicaSets. Users
// change the template, scale, pause, resume, roll back, delete and adopt; some images are bad. On the
// way, the surge and the unavailability must be respected.
func Deployment(both simulation.Process) simulation.Story {
	return simulation.Story{
		// few seeds are enough for the race detector
		Name: "deployment", Seeds: 60, Short: 8, Race: 6,
		Controllers: both, Steps: 9, Mishaps: rolloutMishaps, Crashes: rolloutCrashes,
		Cast: castDeployment,
		Least: map[string]int{
			"crash":                                90,
			"crash after create replicasets":       7,
			"crash after patch replicasets":        20,
			"crash after patch deployments/status": 16,
			"crash after patch replicasets/status": 15,
			"crash after create pods":              17,
			"crash after delete pods":              12,
			"fault: Deployments late":              91,
			"fault: ReplicaSets late":              60,
			"fault: answer to a create lost":       1,
			"fault: answer to a patch lost":        300,
			"fault: conflict":                      30,
			"fault: create fails":                  152,
			"fault: patch fails":                   85,
			"fault: refused":                       24,
			"fault: watch cut":                     200,
			"fault: watch cut in time":             267,
			"user: change the strategy":            30,
			"user: change the template":            196,
			"user: delete a Pod":                   15,
			"user: make an orphan":                 41,
			"user: pause":                          38,
			"user: resume":                         45,
			"user: scale":                          90,
			"user: replace the Deployment":         15,
			"user: scale a ReplicaSet":             8,
			"user: take a ReplicaSet away":         10,
			"garbage collector: delete":            72,
			"kubelet: fails a Pod":                 15,
			"mishap: compaction":                   42,
			"mishap: crash":                        102,
			"mishap: stale views":                  5,
			"mishap: missed states":                6,
			"mishap: time travel":                  5,
			"mishap: two at once":                  10,
			"mishap: clocks":                       6,
			"mishap: wrong answer":                 4,
			"mishap: wrong answers":                14,
		},
	}
}

// castDeployment makes the users of the Deployment web.
func castDeployment(w *simulation.World) simulation.Cast {
	s := &deploymentUsers{w}
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

// rolloutCrashes are the writes after which the process may die.
var rolloutCrashes = []fakeapi.Match{
	{Verb: "create", Resource: "replicasets"}, {Verb: "update|patch", Resource: "replicasets"},
	{Verb: "update|patch", Resource: "deployments", Subresource: "status"},
	{Verb: "update|patch", Resource: "replicasets", Subresource: "status"},
	{Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
}

// rolloutMishaps are those that are hardest for a Deployment.
func rolloutMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	delay := milliseconds(random, 2000)
	return []simulation.Mishap{
		lost("answer to a create lost", on("create", "replicasets"), often),
		lost("answer to a patch lost", on("update|patch", "replicasets"), often),
		lost("answer to a patch lost", on("update|patch", ""), often),
		fails("create fails", on("create", "replicasets"), often, fakeapi.InternalError()),
		fails("create fails", on("create", ""), often, fakeapi.Forbidden()),
		fails("patch fails", on("update|patch", "replicasets"), often, fakeapi.Timeout()),
		late("ReplicaSets late", "replicasets", delay),
		late("Deployments late", "deployments", delay),
		late("Pods late", "pods", delay),
	}
}
