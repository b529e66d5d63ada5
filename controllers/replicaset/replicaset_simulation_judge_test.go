package replicaset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager/client"
)

// memory is how long the controller may believe what is over: what users ask for and what they do to Pods, it learns
// from watches that are late and break. What it has done itself, it may not forget for a moment.
const memory = 4 * time.Minute

// observed is something that has happened: to a ReplicaSet, to a Pod, or that a user is about to delete a Pod.
type observed struct {
	at            time.Time
	set           *appsv1.ReplicaSet
	pod           *corev1.Pod
	isGone        bool
	deletedByUser types.UID
}

// startWatching starts the judge's watches, and the kubelet.
func (s *simulation) startWatching() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	for _, list := range []client.ObjectList{&corev1.PodList{}, &appsv1.ReplicaSetList{}} {
		watching, err := s.live.Watch(ctx, list)
		require.NoError(s.t, err)
		s.others.Go(func() {
			for e := range watching.ResultChan() {
				o := observed{at: time.Now(), isGone: e.Type == watch.Deleted}
				switch object := e.Object.(type) {
				case *corev1.Pod:
					o.pod = object
				case *appsv1.ReplicaSet:
					o.set = object
				default:
					continue // an error, which ends the watch
				}
				s.mu.Lock()
				s.seen = append(s.seen, o)
				s.mu.Unlock()
			}
			if ctx.Err() == nil {
				s.breaks("the judge's watch has ended")
			}
		})
	}
	s.others.Go(func() { s.kubelet(ctx) })
}

// moments are numbers at moments.
type moments []struct {
	at time.Time
	n  int
}

func (m *moments) add(at time.Time, n int) {
	*m = append(*m, struct {
		at time.Time
		n  int
	}{at, n})
}

// lately are the numbers that held at some moment of the time that may be remembered.
func (m moments) lately(now time.Time) (numbers []int) {
	for i := range m {
		if i == len(m)-1 || now.Sub(m[i+1].at) < memory {
			numbers = append(numbers, m[i].n)
		}
	}
	return numbers
}

// since counts what has happened in that time.
func (m moments) since(now time.Time) (n int) {
	for _, moment := range m {
		if now.Sub(moment.at) < memory {
			n++
		}
	}
	return n
}

// counting is what the judge knows of one ReplicaSet.
type counting struct {
	wanted moments // replicas
	pods   int     // that count
	lost   moments // Pods that others took away
	gained moments // Pods that others gave back
}

// judge goes through all that has happened, and says where a Pod was created or deleted that should not have been.
func (s *simulation) judge() {
	sets := map[types.UID]*counting{}
	of := func(uid types.UID) *counting {
		if sets[uid] == nil {
			sets[uid] = &counting{}
		}
		return sets[uid]
	}
	last := map[types.UID]*corev1.Pod{}
	byUser := map[types.UID]bool{}
	slices.SortStableFunc(s.seen, func(a, b observed) int { return a.version() - b.version() })
	for _, o := range s.seen {
		byUser[o.deletedByUser] = o.deletedByUser != ""
	}
	for _, o := range s.seen {
		switch {
		case o.set != nil:
			of(o.set.UID).wanted.add(o.at, int(*o.set.Spec.Replicas))
		case o.pod != nil:
			before, isNew := last[o.pod.UID], last[o.pod.UID] == nil
			last[o.pod.UID] = o.pod
			was, is := countsFor(before), countsFor(o.pod)
			if o.isGone {
				is = ""
			}
			if !isNew && metav1.GetControllerOf(before) != nil && metav1.GetControllerOf(o.pod) == nil {
				s.did["Pods released"]++
			}
			switch {
			case was == is:
			case is != "":
				set := of(is)
				set.pods++
				s.note(o, "counts", set.pods)
				switch {
				case isNew:
					s.did["Pods created"]++
					if most := slices.Max(set.wanted.lately(o.at)) + set.gained.since(o.at); set.pods > most {
						s.breaks("%s: the Pod %s was one too many: there were %d, and %d were wanted at most", o.at.UTC().Format(clockFormat), o.pod.Name, set.pods, most)
					}
				case metav1.GetControllerOf(before) == nil:
					s.did["Pods adopted"]++
				default:
					set.gained.add(o.at, 1)
				}
			default:
				set := of(was)
				set.pods--
				s.note(o, "does not count any more", set.pods)
				if byUser[o.pod.UID] || o.pod.DeletionTimestamp == nil && !o.isGone {
					set.lost.add(o.at, 1)
					break
				}
				s.did["Pods deleted"]++
				if least := slices.Min(set.wanted.lately(o.at)) - set.lost.since(o.at); set.pods < least {
					s.breaks("%s: the Pod %s was needed: %d are left, and %d were wanted at least", o.at.UTC().Format(clockFormat), o.pod.Name, set.pods, least)
				}
			}
		}
	}
}

// note is for the story.
func (s *simulation) note(o observed, what string, now int) {
	s.tale = append(s.tale, fmt.Sprintf("%s the Pod %s %s: %d", o.at.UTC().Format(clockFormat), o.pod.Name, what, now))
}

func (o observed) version() int {
	var text string
	switch {
	case o.pod != nil:
		text = o.pod.ResourceVersion
	case o.set != nil:
		text = o.set.ResourceVersion
	}
	version, _ := strconv.Atoi(text)
	return version
}

// countsFor is the ReplicaSet for which a Pod counts, or nothing.
func countsFor(pod *corev1.Pod) types.UID {
	if pod == nil || !podstate.IsActive(pod) || pod.Labels["app"] != "web" || metav1.GetControllerOf(pod) == nil {
		return ""
	}
	return metav1.GetControllerOf(pod).UID
}
