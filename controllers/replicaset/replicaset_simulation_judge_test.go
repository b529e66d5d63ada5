package replicaset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// noteQuestions notes when the controller asks the server for a ReplicaSet. What it reads otherwise is the cache's.
func (s *simulated) noteQuestions() {
	s.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "get", Resource: "replicasets"}, OnHit: func(fakeapi.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked.Add(time.Now(), struct{}{})
	}})
}

// judge goes through all that has happened, and says where a Pod was created or deleted that should not have been.
func (s *simulated) judge() {
	j := &judge{simulated: s, sets: map[types.UID]*counting{}, last: map[types.UID]*corev1.Pod{}}
	for _, change := range s.Changes() {
		switch object := change.Object.(type) {
		case *appsv1.ReplicaSet:
			j.of(object.UID).wanted.Add(change.At, int(*object.Spec.Replicas))
		case *corev1.Pod:
			j.see(change, object)
		}
	}
}

type judge struct {
	*simulated
	sets map[types.UID]*counting
	last map[types.UID]*corev1.Pod
}

// counting is what the judge knows of one ReplicaSet.
type counting struct {
	wanted simulation.History[int]      // replicas
	pods   int                          // that count
	lost   simulation.History[struct{}] // Pods that others took away
	gained simulation.History[struct{}] // Pods that others gave back
}

func (j *judge) of(uid types.UID) *counting {
	if j.sets[uid] == nil {
		j.sets[uid] = &counting{}
	}
	return j.sets[uid]
}

// see judges a change of a Pod.
func (j *judge) see(change simulation.Change, pod *corev1.Pod) {
	before := j.last[pod.UID]
	j.last[pod.UID] = pod
	was, is := countsFor(before), countsFor(pod)
	if change.IsGone {
		is = ""
	}
	if before != nil && metav1.GetControllerOf(before) != nil && metav1.GetControllerOf(pod) == nil {
		j.Count("Pods released")
	}
	switch {
	case was == is:
	case is != "":
		set := j.of(is)
		set.pods++
		j.TellOf(change.At, "the Pod %s counts: %d", pod.Name, set.pods)
		switch {
		case before == nil:
			j.Count("Pods created")
			if most := slices.Max(set.wanted.Lately(change.At)) + len(set.gained.Added(change.At)); set.pods > most {
				j.Breaks(change.At, "the Pod %s was one too many: there were %d, and %d were wanted at most", pod.Name, set.pods, most)
			}
		case metav1.GetControllerOf(before) == nil:
			j.Count("Pods adopted")
			if len(j.asked.Added(change.At)) == 0 {
				j.Breaks(change.At, "the Pod %s was adopted, and nobody had asked whether the ReplicaSet is still there", pod.Name)
			}
		default:
			set.gained.Add(change.At, struct{}{})
		}
	default:
		set := j.of(was)
		set.pods--
		j.TellOf(change.At, "the Pod %s does not count any more: %d", pod.Name, set.pods)
		if _, byUser := j.byUser.Load(pod.UID); byUser || pod.DeletionTimestamp == nil && !change.IsGone {
			set.lost.Add(change.At, struct{}{})
			return
		}
		j.Count("Pods deleted")
		if least := slices.Min(set.wanted.Lately(change.At)) - len(set.lost.Added(change.At)); set.pods < least {
			j.Breaks(change.At, "the Pod %s was needed: %d are left, and %d were wanted at least", pod.Name, set.pods, least)
		}
	}
}

// countsFor is the ReplicaSet for which a Pod counts, or nothing.
func countsFor(pod *corev1.Pod) types.UID {
	if pod == nil || !podstate.IsActive(pod) || pod.Labels["app"] != "web" || metav1.GetControllerOf(pod) == nil {
		return ""
	}
	return metav1.GetControllerOf(pod).UID
}
