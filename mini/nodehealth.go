package mini

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isNoExecute is true of taints that end Pods that are already on the node.
func isNoExecute(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }

// evictionTime returns when the Pod has to leave; leaves is false if it may stay forever.
// Among several tolerations of a taint the first one counts, and among several taints the
// one that ends the Pod first. A Pod that came after the taint has its full time.
func evictionTime(
	pod *corev1.Pod, taints []corev1.Taint,
) (at time.Time, leaves bool) {
	for _, taint := range taints {
		if !isNoExecute(taint) || taint.TimeAdded == nil {
			continue
		}
		since := taint.TimeAdded.Time
		if pod.CreationTimestamp.After(since) {
			since = pod.CreationTimestamp.Time
		}
		leave := func(seconds int64) {
			due := since.Add(time.Duration(seconds) * time.Second)
			if !leaves || due.Before(at) {
				at, leaves = due, true
			}
		}
		first := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Discard(), &taint, false)
		})
		if first < 0 {
			leave(0)
		} else if s := pod.Spec.Tolerations[first].TolerationSeconds; s != nil {
			leave(max(0, *s))
		}
	}
	return at, leaves
}

// How long a node may be silent: one that has reported before, and a new one.
const (
	nodeMonitorGracePeriod = 50 * time.Second
	nodeStartupGracePeriod = 60 * time.Second
)

// heartbeat is a node's last sign of life, and when it came, by our clock. The times in
// the sign are by the node's clock, so we only look at whether they change.
type heartbeat struct {
	sign     string
	seen     time.Time
	patience time.Duration
}

// heartbeatOf reads a node's sign of life. lease is empty if the node has none.
func heartbeatOf(
	node *corev1.Node, lease *coordinationv1.Lease, now time.Time,
) heartbeat {
	h := heartbeat{seen: now, patience: nodeStartupGracePeriod}
	var reported metav1.Time
	if ready := nodeCondition(node, corev1.NodeReady); ready != nil {
		reported, h.patience = ready.LastHeartbeatTime, nodeMonitorGracePeriod
	}
	h.sign = fmt.Sprint(node.UID, lease.Spec.RenewTime, reported)
	return h
}

// left returns how long we still believe in the node. At 0, the node is silent.
func (h heartbeat) left(now time.Time) time.Duration {
	return max(0, h.patience-now.Sub(h.seen))
}

func nodeCondition(
	node *corev1.Node, kind corev1.NodeConditionType,
) *corev1.NodeCondition {
	for i, c := range node.Status.Conditions {
		if c.Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// nodeStatus returns the status of a condition: Unknown if the node has stopped
// reporting, and False if it hasn't begun to.
func nodeStatus(
	node *corev1.Node, kind corev1.NodeConditionType,
) corev1.ConditionStatus {
	if c := nodeCondition(node, kind); c != nil {
		return c.Status
	}
	return corev1.ConditionFalse
}

// setUnknown sets each condition that the kubelet reports to Unknown. It returns false if
// they already are.
func setUnknown(node *corev1.Node, now metav1.Time) (changed bool) {
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure,
	} {
		c := nodeCondition(node, kind)
		if c == nil {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: kind, LastHeartbeatTime: node.CreationTimestamp,
				Reason:  "NodeStatusNeverUpdated",
				Message: "the kubelet has never reported",
			})
			c = &node.Status.Conditions[len(node.Status.Conditions)-1]
		} else if c.Status != corev1.ConditionUnknown {
			c.Reason, c.Message = "NodeStatusUnknown", "the kubelet has stopped reporting"
		}
		if c.Status != corev1.ConditionUnknown {
			c.Status, c.LastTransitionTime, changed = corev1.ConditionUnknown, now, true
		}
	}
	return changed
}

// conditionTaints says which taint a node gets if the condition has this status.
var conditionTaints = []struct {
	kind   corev1.NodeConditionType
	status corev1.ConditionStatus
	key    string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue,
		corev1.TaintNodeNetworkUnavailable},
}

// isHealthTaint is true of the taints that this controller sets and removes.
func isHealthTaint(t corev1.Taint) bool {
	if isNoExecute(t) {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	}
	ofCondition := t.Key == corev1.TaintNodeUnschedulable
	for _, row := range conditionTaints {
		ofCondition = ofCondition || t.Key == row.key
	}
	return ofCondition && t.Effect == corev1.TaintEffectNoSchedule
}

// nodeTaints returns the taints that the node should have. NoSchedule keeps new Pods
// away. NoExecute, only if evict is true, ends those that are already there. Taints that
// aren't ours stay.
func nodeTaints(node *corev1.Node, evict bool, now metav1.Time) (all []corev1.Taint) {
	since := now // a node that's not ready and then silent has one period
	for _, t := range node.Spec.Taints {
		switch {
		case !isHealthTaint(t):
			all = append(all, t)
		case isNoExecute(t) && t.TimeAdded != nil:
			since = *t.TimeAdded
		}
	}
	noSchedule := func(key string) {
		t := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
		all = append(all, t)
	}
	if node.Spec.Unschedulable {
		noSchedule(corev1.TaintNodeUnschedulable)
	}
	for _, row := range conditionTaints {
		if nodeStatus(node, row.kind) != row.status {
			continue
		}
		noSchedule(row.key)
		if evict && row.kind == corev1.NodeReady {
			all = append(all, corev1.Taint{
				Key: row.key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &since,
			})
		}
	}
	return all
}

// shouldEvict returns whether the node should have a taint that ends its Pods. left is
// how long we still believe in the node; disrupted is true if no node is healthy.
func shouldEvict(node *corev1.Node, left time.Duration, disrupted bool) bool {
	if disrupted {
		return false // the problem is more likely on our side
	}
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return isHealthTaint(t) && isNoExecute(t)
	})
	unknown := nodeStatus(node, corev1.NodeReady) == corev1.ConditionUnknown
	// After an outage, or in a new process, a node whose status is Unknown still has some
	// time left.
	return tainted || !unknown || left == 0
}
