package deployment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
)

// limits are what a rolling update must respect at every moment.
type limits struct {
	desired     int32 // Pods that the Deployment asks for
	surge       int32 // Pods that may be there besides
	unavailable int32 // Pods of those desired that may be missing
}

// size is what the arithmetic knows of one ReplicaSet.
type size struct {
	wanted    int32 // Pods that it was asked for
	available int32 // Pods that serve, as its status says
}

// serving is how many Pods serve for certain. A status that is older than the last change may count Pods that have to
// go; the ReplicaSet takes those that do not serve first.
func (s size) serving() int32 { return min(s.available, s.wanted) }

func (s size) idle() int32 { return s.wanted - s.serving() }

// limitsOf resolves percentages. Both are rounded to the careful side: the surge up, so that there is one at all, and
// the unavailable down. If both come out as zero, nothing could ever move; one Pod may be missing then, because
// a surge may be more than a quota allows. There is no more surge than a number of Pods can hold.
func limitsOf(spec *appsv1.DeploymentSpec) limits {
	l := limits{desired: replicasOf(spec.Replicas)}
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return l
	}
	l.surge = min(scaled(rolling.MaxSurge, l.desired, true), math.MaxInt32-l.desired)
	l.unavailable = scaled(rolling.MaxUnavailable, l.desired, false)
	if l.surge == 0 && l.unavailable == 0 {
		l.unavailable = 1
	}
	l.unavailable = min(l.unavailable, l.desired)
	return l
}

// replicasOf is what the API server writes if nobody says a number.
func replicasOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// scaled is a number, or a percentage of the whole. It is 0 for nil, and for what is neither, which the API server has
// refused.
func scaled(value *intstr.IntOrString, whole int32, up bool) int32 {
	n, _ := intstr.GetScaledValueFromIntOrPercent(value, int(whole), up) // 0 with an error
	return int32(min(n, math.MaxInt32))
}

// newSize is how many Pods the new ReplicaSet should ask for now: as many as there is room for, and no more than are
// desired. It is less than it has only if fewer are desired.
func newSize(l limits, newRS size, oldRSs []size) int32 {
	total := newRS.wanted
	for _, old := range oldRSs {
		total += old.wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return min(newRS.wanted+room, l.desired)
}

// oldSizes is how many Pods each of the old ReplicaSets should ask for now. They are in the order of their age, and the
// oldest goes first.
//
// Pods that do not serve go first, whichever ReplicaSet they belong to: nobody misses them, and an update that waited
// for them to become available might wait forever. They may go as long as enough Pods are left that may still come to
// serve. Then those that serve go, as long as enough others serve.
func oldSizes(l limits, newRS size, oldRSs []size) []int32 {
	least := l.desired - l.unavailable
	sizes := make([]int32, len(oldRSs))
	left, serving := newRS.serving(), newRS.serving()
	for i, old := range oldRSs {
		sizes[i] = old.wanted
		left += old.wanted
		serving += old.serving()
	}
	take := func(most int32, from func(i int) int32) {
		for i := range sizes {
			n := max(min(most, from(i)), 0)
			sizes[i] -= n
			most -= n
		}
	}
	take(left-least, func(i int) int32 { return oldRSs[i].idle() })
	take(serving-least, func(i int) int32 { return sizes[i] })
	return sizes
}

// waitsFor is for how many Pods of the new ReplicaSet a rolling update waits that has nothing to do and is not at its
// end. There is nothing else that it could wait for: as long as old Pods are left, and all new ones serve, the limits
// leave room for one to come or to go.
func waitsFor(newRS size) int32 { return newRS.idle() }

// recreate lets no new Pod start before the last old one has ended, for programs that do not bear a second one
// beside them.
func (s *deploymentSync) recreate(ctx context.Context) error {
	for _, rs := range slices.Clone(s.oldRSs) {
		if err := s.resize(ctx, rs, 0, false); err != nil {
			return err
		}
	}
	for _, rs := range s.oldRSs {
		if runs, err := s.mayRun(ctx, rs); runs || err != nil {
			return err
		}
	}
	if s.newRS == nil {
		return s.create(ctx, s.desired())
	}
	return s.resize(ctx, s.newRS, s.desired(), false)
}

// mayRun reports whether Pods of a ReplicaSet may still run, those that are terminating included.
//
// Its status says so, if it is about what the ReplicaSet asks for now. Kubernetes' own controller counts Pods
// instead, and so has all Pods of the cluster in its memory. A ReplicaSet controller that does not report
// terminating Pods leaves no choice: then the server is asked for them.
func (s *deploymentSync) mayRun(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	status := rs.Status
	switch {
	case status.Replicas > 0 || status.ObservedGeneration < rs.Generation:
		return true, nil
	case status.TerminatingReplicas != nil:
		return *status.TerminatingReplicas > 0, nil
	}
	runs, err := s.ask(ctx, rs)
	if runs {
		s.again = time.Second // nothing else would report their end
	}
	return runs, err
}

// ask asks the server whether a ReplicaSet has Pods that have not ended.
func (s *deploymentSync) ask(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("the selector of the ReplicaSet %s: %w", rs.Name, err)
	}
	var pods corev1.PodList
	if err := s.live.List(ctx, &pods, client.InNamespace(rs.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, fmt.Errorf("looking for Pods of the old ReplicaSet %s: %w", rs.Name, err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return metav1.IsControlledBy(&pod, rs) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}), nil
}
