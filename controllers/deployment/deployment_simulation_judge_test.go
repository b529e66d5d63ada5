package deployment

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/simulation"
)

// judge goes through all that has happened, and says where a ReplicaSet got a size that it should not have got.
func (s *simulated) judge() {
	j := &judge{simulated: s, sets: map[types.UID]*appsv1.ReplicaSet{}, deployments: map[types.UID]simulation.History[*appsv1.Deployment]{}}
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
	if from == to || len(j.deployments[owner.UID]) == 0 || j.byHand[fmt.Sprint(rs.UID, rs.Generation)] {
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
		j.Breaks(at, "%s went from %d to %d, so that %d Pods are asked for, and %d are allowed", rs.Name, from, to, total, most)
	}
	// Whoever scales, or changes the surge of a paused rollout, asks for shares, and they come before availability. So does
	// whoever brings in Pods, and whoever pauses while there are too many.
	shares := len(shapes) > 1 || gains > 0 || paused && total-to+from > most
	if lost := min(sizeOf(orNow(before, rs)).serving(), from) - sizeOf(rs).serving(); to < from && lost > 0 && !shares && serving < least-kills {
		j.Breaks(at, "%s went from %d to %d, so that %d Pods serve, and %d have to", rs.Name, from, to, serving, least)
	}
}

func orNow(before, now *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if before == nil {
		return now
	}
	return before
}
