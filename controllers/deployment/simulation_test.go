package deployment

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		Package: "./controllers/deployment", Seeds: 24, Short: 8, Race: 6,
		Controllers: bothControllers, Mishaps: mishaps, Crashes: crashes, Play: play,
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

// play plays one seed. The users do the same with faults and without.
func play(w *simulation.World) string {
	s := &simulated{world: &world{w}, byHand: map[string]bool{}}
	s.Watch(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{})
	s.Go(func() { s.Kubelet(isGood) })
	s.make()
	s.Start()
	for range 14 {
		s.Disturb()
		s.act()
		s.Pause()
	}
	s.Calm()
	s.last()
	s.Rest()
	state := s.state()
	s.NothingIsWritten()
	s.judge()
	return state
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

// judge checks all recorded changes, and reports each size that a ReplicaSet should not have got.
func (s *simulated) judge() {
	j := &judge{
		simulated: s, sets: map[types.UID]*appsv1.ReplicaSet{},
		deployments: map[types.UID]simulation.History[*appsv1.Deployment]{},
	}
	for _, change := range s.Changes() {
		switch object := change.Object.(type) {
		case *appsv1.Deployment:
			if !change.IsGone {
				states := j.deployments[object.UID]
				states.Add(change.At, object)
				j.deployments[object.UID] = states
			}
		case *appsv1.ReplicaSet:
			if change.IsGone {
				delete(j.sets, object.UID)
			} else {
				j.see(change.At, object)
			}
		}
	}
}

type judge struct {
	*simulated
	sets        map[types.UID]*appsv1.ReplicaSet
	deployments map[types.UID]simulation.History[*appsv1.Deployment]
}

// see judges a change of a ReplicaSet's size.
func (j *judge) see(at time.Time, rs *appsv1.ReplicaSet) {
	before := j.sets[rs.UID]
	j.sets[rs.UID] = rs
	owner := metav1.GetControllerOf(rs)
	if owner == nil || before == nil && *rs.Spec.Replicas == 0 {
		return
	}
	from := int32(0)
	if before != nil {
		from = *before.Spec.Replicas
	}
	to := *rs.Spec.Replicas
	if from == to || len(j.deployments[owner.UID]) == 0 ||
		j.byHand[fmt.Sprint(rs.UID, rs.Generation)] {
		return
	}
	total, serving := int32(0), int32(0)
	for _, rs := range j.sets {
		if owned := metav1.GetControllerOf(rs); owned != nil && owned.UID == owner.UID {
			total += *rs.Spec.Replicas
			serving += sizeOf(rs).serving()
		}
	}
	most, least, shapes, paused := int32(0), int32(1000), map[[2]int32]bool{}, false
	for _, d := range j.deployments[owner.UID].Lately(at) {
		l := limitsOf(&d.Spec)
		most = max(most, l.desired+l.surge)
		shapes[[2]int32{l.desired, l.surge}] = true
		paused = paused || d.Spec.Paused
		if least = min(least, l.desired-l.unavailable); !isRolling(d) {
			least = 0
		}
	}
	var kills, gains int32
	for _, others := range j.others.Added(at) {
		kills, gains = kills+others.kills, gains+others.gains
	}
	if to > from && total > most+gains {
		j.Breaks(at, "%s went from %d to %d, so that %d Pods are asked for, and %d are allowed",
			rs.Name, from, to, total, most)
	}
	// Proportional scaling comes before availability. A user causes it by scaling, or by changing
	// the surge of a paused rollout; by bringing in Pods; and by pausing while there are too many.
	shares := len(shapes) > 1 || gains > 0 || paused && total-to+from > most
	if lost := min(sizeOf(orNow(before, rs)).serving(), from) - sizeOf(rs).serving(); to < from &&
		lost > 0 && !shares && serving < least-kills {
		j.Breaks(at, "%s went from %d to %d, so that %d Pods serve, and %d have to", rs.Name, from,
			to, serving, least)
	}
}

func orNow(before, now *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if before == nil {
		return now
	}
	return before
}
