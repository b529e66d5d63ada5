package mini

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeLifecycle is the controller that notices when a node goes silent. It says so in the
// node's conditions, in its taints and in its Pods.
//
// Guarantees: the nodes' clocks don't matter. While no node is healthy, it sets no taint
// that evicts Pods, and removes those that it has set, because then the problem is more
// likely on our side.
//
// Caveats: a new process gives each node its full time again. If an outage hits half of
// the nodes, they all get their taints at once.
type NodeLifecycle struct {
	client *CachedClient
	nodes  *SharedInformer

	mu         sync.Mutex           // guards heartbeats
	heartbeats map[string]heartbeat // by the node's name; empty: not heard yet
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
	c.Watch(nodes, func(Change) (all []Request) { // is one now the only healthy one?
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

// readyChanged is true if a node has become ready, or no longer is.
func readyChanged(change Change) bool {
	status := func(obj Object) corev1.ConditionStatus {
		if obj == nil {
			return ""
		}
		return nodeStatus(obj.(*corev1.Node), corev1.NodeReady)
	}
	return status(change.Old) != status(change.New)
}

// expect remembers that there's such a node. Until we've heard each of them, we can't say
// that none is healthy.
func (n *NodeLifecycle) expect(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.heartbeats[name]; !known {
		n.heartbeats[name] = heartbeat{}
	}
}

// hear remembers a node's heartbeat. It returns how long we still believe in the node,
// and whether no node at all is healthy.
func (n *NodeLifecycle) hear(
	name string, h heartbeat, now time.Time,
) (left time.Duration, disrupted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.heartbeats[name]; old.sign == h.sign {
		h.seen = old.seen
	} else if n.allSilentLocked(now) { // the outage is over; others may be a bit late
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

// isDisruptedLocked is true if no node is healthy. It runs at each heartbeat, but stops
// at the first healthy node, which is one of the first it looks at, unless most have
// problems.
func (n *NodeLifecycle) isDisruptedLocked(now time.Time) bool {
	for name, h := range n.heartbeats {
		if h.sign == "" {
			return false // we haven't heard it yet: it may be healthy
		}
		if h.left(now) == 0 {
			continue
		}
		node := n.nodes.Get(Request{Name: name}) // as it is now, perhaps not yet judged
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
// healthy. Another node's heartbeat would end that, but it doesn't enqueue this one.
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
		lease = &coordinationv1.Lease{} // it only reports its status, or is new
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
	taints := nodeTaints(node, shouldEvict(node, left, disrupted), now)
	if !equality.Semantic.DeepEqual(taints, node.Spec.Taints) {
		node.Spec.Taints = taints
		if err := setTaints(ctx, n.client, node); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	if left == 0 { // otherwise its kubelet still reports its Pods
		if err := n.podsNotReady(ctx, node.Name, now); err != nil {
			return Result{}, err
		}
	}
	if disrupted && left == 0 {
		left = outageRecheck
	}
	return Result{RequeueAfter: left}, nil
}

// podsNotReady takes the Pods of a silent node out of their Services, because the
// kubelet, which said that they're ready, can't take that back.
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
