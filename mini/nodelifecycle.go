package mini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long a node may be silent: one that has reported before, and a new one.
const (
	nodeMonitorGracePeriod = 50 * time.Second
	nodeStartupGracePeriod = 60 * time.Second
)

// heartbeat is the last sign of life of a node, and when it came, on our clock. The times
// in the sign are of the node's clock, so we only see whether they change.
type heartbeat struct {
	sign     string
	seen     time.Time
	patience time.Duration
}

// heartbeatOf reads the sign of life of a node; lease is empty if it has none.
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

// left is how long we still believe in the node. It is silent at 0.
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
// reporting, and False if it has not begun.
func nodeStatus(
	node *corev1.Node, kind corev1.NodeConditionType,
) corev1.ConditionStatus {
	if c := nodeCondition(node, kind); c != nil {
		return c.Status
	}
	return corev1.ConditionFalse
}

// setUnknown sets each condition that the kubelet reports to Unknown. It returns false if
// they are Unknown already.
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

// conditionTaints says which taint a condition makes, if it has this status.
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
// away. NoExecute ends those that are there, and is set if evict is true. Taints of
// others stay.
func nodeTaints(node *corev1.Node, evict bool, now metav1.Time) (all []corev1.Taint) {
	since := now // a node that is not ready, and then silent, has one period
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

// NodeLifecycle is the controller that notices that a node is silent. It says so in the
// node's conditions, in its taints, and in its Pods.
//
// Guarantees: clocks of nodes do not matter. If no node is healthy, it sets no taint that
// evicts, and takes back those that it has set: the trouble is more likely ours.
//
// Caveats: a new process gives each node its full time again. All taints of an outage
// that hits half of the nodes come at once.
type NodeLifecycle struct {
	client *CachedClient
	nodes  *SharedInformer

	mu         sync.Mutex           // guards heartbeats
	heartbeats map[string]heartbeat // by the node's name; empty: expected, and not heard
}

// NewNodeLifecycleController returns the controller with its watches. Add it to m.
func NewNodeLifecycleController(m *Manager) (*Controller, error) {
	nodes := m.Informer(&corev1.Node{})
	leases := m.Informer(&coordinationv1.Lease{})
	pods := m.Informer(&corev1.Pod{})
	n := &NodeLifecycle{
		client: m.Client, nodes: nodes, heartbeats: map[string]heartbeat{},
	}
	c := m.NewController("nodelifecycle", 5, n)
	c.Watch(nodes, func(change Change) []Request {
		n.expect(change.Object().GetName())
		return EnqueueObject(change)
	})
	c.Watch(nodes, func(Change) (all []Request) { // does one of them stand alone now?
		for _, node := range nodes.List() {
			all = append(all, KeyOf(node))
		}
		return all
	}, readyChanged)
	c.Watch(leases, EnqueueMapped(func(lease Object) []Request {
		if lease.GetNamespace() != corev1.NamespaceNodeLease {
			return nil
		}
		return []Request{{Name: lease.GetName()}}
	}))
	c.Watch(pods, EnqueueMapped(nodeOf))
	return c, m.err
}

// readyChanged is true if a node has become ready, or is no longer.
func readyChanged(change Change) bool {
	status := func(obj Object) corev1.ConditionStatus {
		if obj == nil {
			return ""
		}
		return nodeStatus(obj.(*corev1.Node), corev1.NodeReady)
	}
	return status(change.Old) != status(change.New)
}

// expect remembers that there is such a node: until we have heard each of them, we can't
// say that none is healthy.
func (n *NodeLifecycle) expect(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.heartbeats[name]; !known {
		n.heartbeats[name] = heartbeat{}
	}
}

// hear remembers a node's heartbeat. It returns how long we still believe in the node,
// and whether no node is healthy at all.
func (n *NodeLifecycle) hear(
	name string, h heartbeat, now time.Time,
) (left time.Duration, disrupted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.heartbeats[name]; old.sign == h.sign {
		h.seen = old.seen
	} else if n.allSilentLocked(now) { // the outage is over: the others may be a bit late
		for name, other := range n.heartbeats {
			other.seen = now
			n.heartbeats[name] = other
		}
	}
	n.heartbeats[name] = h
	return h.left(now), n.isDisruptedLocked(now)
}

func (n *NodeLifecycle) allSilentLocked(now time.Time) bool {
	for _, h := range n.heartbeats {
		if h.left(now) > 0 {
			return false
		}
	}
	return true
}

// isDisruptedLocked is true if no node is healthy. It runs at each heartbeat, and ends at
// the first healthy node: one of the first it looks at, unless most are in trouble.
func (n *NodeLifecycle) isDisruptedLocked(now time.Time) bool {
	for name, h := range n.heartbeats {
		if h.sign == "" {
			return false // we haven't heard it yet: it may be healthy
		}
		if h.left(now) == 0 {
			continue
		}
		node := n.nodes.Get(Request{Name: name}) // as it is now: it may not be judged yet
		if node == nil {
			continue // deleted
		}
		if nodeStatus(node.(*corev1.Node), corev1.NodeReady) == corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// outageRecheck is how long a silent node waits for its next reconcile while no node is
// healthy: the heartbeat of another one ends that, and is no event for this one.
const outageRecheck = 5 * time.Second

// Reconcile judges one node.
func (n *NodeLifecycle) Reconcile(ctx context.Context, req Request) (Result, error) {
	node, err := Get[*corev1.Node](ctx, n.client, req)
	if apierrors.IsNotFound(err) {
		n.mu.Lock()
		delete(n.heartbeats, req.Name)
		n.mu.Unlock()
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	leaseName := Request{Namespace: corev1.NamespaceNodeLease, Name: node.Name}
	lease, err := Get[*coordinationv1.Lease](ctx, n.client, leaseName)
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{} // it reports its status, or is new
	} else if err != nil {
		return Result{}, err
	}
	now := metav1.Now()
	left, disrupted := n.hear(node.Name, heartbeatOf(node, lease, now.Time), now.Time)
	if left == 0 && setUnknown(node, now) {
		if err := n.client.UpdateStatus(ctx, node); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return isHealthTaint(t) && isNoExecute(t)
	})
	unknown := nodeStatus(node, corev1.NodeReady) == corev1.ConditionUnknown
	// After an outage, or in a new process, a node that is Unknown has some time left.
	evict := !disrupted && (tainted || !unknown || left == 0)
	taints := nodeTaints(node, evict, now)
	if !equality.Semantic.DeepEqual(taints, node.Spec.Taints) {
		node.Spec.Taints = taints
		if err := setTaints(ctx, n.client, node); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	if left == 0 { // otherwise its kubelet is about to report its Pods, too
		if err := n.podsNotReady(ctx, node.Name, now); err != nil {
			return Result{}, err
		}
	}
	if disrupted && left == 0 {
		left = outageRecheck
	}
	return Result{RequeueAfter: left}, nil
}

// podsNotReady takes the Pods of a silent node out of their Services. Nobody else can: it
// was the kubelet that said that they are ready.
func (n *NodeLifecycle) podsNotReady(
	ctx context.Context, node string, now metav1.Time,
) error {
	pods, err := listByIndex[*corev1.Pod](ctx, n.client, ByNode, node)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		for i, c := range pod.Status.Conditions {
			if c.Type != corev1.PodReady || c.Status != corev1.ConditionTrue {
				continue
			}
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, now
			c.Reason, c.Message = "NodeNotReady", ""
			pod.Status.Conditions[i] = c
			err = errors.Join(err, IgnoreNotFound(n.client.UpdateStatus(ctx, pod)))
		}
	}
	return err
}
