package deployment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/manager/client"
)

// memory is how long the controller may believe what is over: what others have done, it learns from watches that are
// late and break. What it has done itself, it may not forget for a moment.
const memory = 4 * time.Minute

// observed is something that has happened.
type observed struct {
	at     time.Time
	d      *appsv1.Deployment
	rs     *appsv1.ReplicaSet
	isGone bool
	kills  int32 // so many Pods may stop serving, and it was not the controller
	gains  int32 // so many Pods may have been asked for by somebody else
}

func (o observed) version() int {
	object := metav1.ObjectMeta{}
	if o.d != nil {
		object = o.d.ObjectMeta
	} else if o.rs != nil {
		object = o.rs.ObjectMeta
	}
	version, _ := strconv.Atoi(object.ResourceVersion)
	return version
}

// record is all that was observed.
type record struct {
	mu  sync.Mutex // guards all
	all []observed
}

func (s *simulatedWorld) note(o observed) {
	o.at = time.Now()
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.record.all = append(s.record.all, o)
}

// startWatching starts the judge's watches.
func (s *simulatedWorld) startWatching() {
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}} {
		watching, err := s.Live.Watch(context.Background(), list)
		require.NoError(s.t, err)
		s.Go(func() {
			<-s.Done()
			watching.Stop()
		})
		s.Go(func() {
			for e := range watching.ResultChan() {
				o := observed{isGone: e.Type == watch.Deleted}
				switch object := e.Object.(type) {
				case *appsv1.Deployment:
					o.d = object
				case *appsv1.ReplicaSet:
					o.rs = object
				default:
					continue // an error, which ends the watch
				}
				s.note(o)
			}
			select {
			case <-s.Done():
			default:
				s.Breaks("the judge's watch has ended")
			}
		})
	}
}

// judge goes through all that has happened, and says where a ReplicaSet got a size that it should not have got.
func (s *simulatedWorld) judge() {
	j := &judge{simulatedWorld: s, sets: map[types.UID]*appsv1.ReplicaSet{}}
	// What others do is noted before they do it, and has no version.
	all := s.record.all
	slices.SortStableFunc(all, func(a, b observed) int {
		if a.version() == 0 || b.version() == 0 {
			return a.at.Compare(b.at)
		}
		return a.version() - b.version()
	})
	for _, o := range all {
		switch {
		case o.d != nil && !o.isGone:
			j.deployments = append(j.deployments, o)
		case o.rs != nil && o.isGone:
			delete(j.sets, o.rs.UID)
		case o.rs != nil:
			j.see(o)
		default:
			j.others = append(j.others, o)
		}
	}
}

type judge struct {
	*simulatedWorld
	sets        map[types.UID]*appsv1.ReplicaSet
	deployments []observed
	others      []observed
}

// lately are the states in which the Deployment was within the time that may be remembered.
func (j *judge) lately(uid types.UID, now time.Time) (states []*appsv1.Deployment) {
	var of []observed
	for _, o := range j.deployments {
		if o.d.UID == uid {
			of = append(of, o)
		}
	}
	for i, o := range of {
		if i == len(of)-1 || now.Sub(of[i+1].at) < memory {
			states = append(states, o.d)
		}
	}
	return states
}

func (j *judge) byOthers(now time.Time) (kills, gains int32) {
	for _, o := range j.others {
		if now.Sub(o.at) < memory {
			kills, gains = kills+o.kills, gains+o.gains
		}
	}
	return kills, gains
}

// see judges a change of a ReplicaSet's size.
func (j *judge) see(o observed) {
	before := j.sets[o.rs.UID]
	j.sets[o.rs.UID] = o.rs
	owner := metav1.GetControllerOf(o.rs)
	if owner == nil || before == nil && *o.rs.Spec.Replicas == 0 {
		return
	}
	from := int32(0)
	if before != nil {
		from = *before.Spec.Replicas
	}
	to := *o.rs.Spec.Replicas
	states := j.lately(owner.UID, o.at)
	if from == to || len(states) == 0 || j.byHand[fmt.Sprint(o.rs.UID, o.rs.Generation)] {
		return
	}
	total, serving := int32(0), int32(0)
	for _, rs := range j.sets {
		if owned := metav1.GetControllerOf(rs); owned != nil && owned.UID == owner.UID {
			total += *rs.Spec.Replicas
			serving += sizeOf(rs).serving()
		}
	}
	most, least, shapes := int32(0), int32(1000), map[[2]int32]bool{}
	for _, d := range states {
		l := limitsOf(&d.Spec)
		most = max(most, l.desired+l.surge)
		shapes[[2]int32{l.desired, l.surge}] = true
		if least = min(least, l.desired-l.unavailable); !isRolling(d) {
			least = 0
		}
	}
	kills, gains := j.byOthers(o.at)
	when := o.at.UTC().Format("15:04:05.000")
	if to > from && total > most+gains {
		j.Breaks("%s: %s went from %d to %d, so that %d Pods are asked for, and %d are allowed", when, o.rs.Name, from, to, total, most)
	}
	// Whoever scales, or changes the surge of a paused rollout, asks for shares, and they come before availability. So does
	// whoever brings in Pods.
	if lost := min(sizeOf(orNow(before, o.rs)).serving(), from) - sizeOf(o.rs).serving(); to < from && lost > 0 && len(shapes) == 1 && gains == 0 && serving < least-kills {
		j.Breaks("%s: %s went from %d to %d, so that %d Pods serve, and %d have to", when, o.rs.Name, from, to, serving, least)
	}
}

func orNow(before, now *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if before == nil {
		return now
	}
	return before
}
